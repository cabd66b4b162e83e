"""A member of a group as a table of states, without I/O.

    UNJOINED ──join request──► JOINING ──answer──► SYNCING ──answer──► STABLE
       ▲ │                       │ │ ▲                │                  │
       │ └───────────────────────┘ │ └────────────────┴──────────────────┘ rebalance: join again
       └───────────────────────────┴── generation lost, left

A member that has lost its generation (the coordinator does not know it, or a newer generation has begun without it) may
no longer own anything: what it had is lost, not revoked. Its member id survives only what Kafka lets it survive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.clients.errors import error_code
from moldau.clients.records import GroupMetadata
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse

PROTOCOL_TYPE = "consumer"
NO_GENERATION = -1
_SEVERAL_LEAVERS = 3


class MemberState(Enum):
    UNJOINED = auto()
    JOINING = auto()
    SYNCING = auto()
    STABLE = auto()


_NEXT = {
    MemberState.UNJOINED: {MemberState.UNJOINED, MemberState.JOINING},
    MemberState.JOINING: {MemberState.UNJOINED, MemberState.JOINING, MemberState.SYNCING},
    MemberState.SYNCING: {MemberState.UNJOINED, MemberState.JOINING, MemberState.STABLE},
    MemberState.STABLE: {MemberState.UNJOINED, MemberState.JOINING},
}


class Reaction(Enum):
    """What a member does about an error."""

    RETRY = auto()
    COORDINATOR_LOST = auto()
    REJOIN = auto()
    NEW_GENERATION = auto()
    """It is out of the generation, and joins again under its member id."""
    NEW_MEMBER = auto()
    """The coordinator does not know it: it joins as a new member."""
    TAKE_ID = auto()
    """The coordinator has named the id to join with (KIP-394)."""
    RAISE = auto()
    GIVE_UP = auto()
    """Another process has taken the place of this static member: everything from now on raises."""


_REACTIONS = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: Reaction.RETRY,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: Reaction.COORDINATOR_LOST,
    ErrorCode.NOT_COORDINATOR: Reaction.COORDINATOR_LOST,
    ErrorCode.REQUEST_TIMED_OUT: Reaction.COORDINATOR_LOST,
    ErrorCode.REBALANCE_IN_PROGRESS: Reaction.REJOIN,
    ErrorCode.ILLEGAL_GENERATION: Reaction.NEW_GENERATION,
    ErrorCode.UNKNOWN_MEMBER_ID: Reaction.NEW_MEMBER,
    ErrorCode.MEMBER_ID_REQUIRED: Reaction.TAKE_ID,
    ErrorCode.FENCED_INSTANCE_ID: Reaction.GIVE_UP,
}


class Membership:
    """Who a consumer is in its group, and what it asks of the coordinator."""

    def __init__(
        self, group_id: str, group_instance_id: str | None, session_timeout_ms: int, rebalance_timeout_ms: int
    ) -> None:
        self.group_id = group_id
        self.group_instance_id = group_instance_id
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.state = MemberState.UNJOINED
        self.member_id = ""
        self.generation_id = NO_GENERATION
        self.protocol_name = ""
        self.rejoin_needed = True
        self.reason = "the consumer joins"
        self.fatal: ApiError | None = None
        self._reader = GroupMetadata(group_id, NO_GENERATION, "", group_instance_id)

    @property
    def metadata(self) -> GroupMetadata:
        """Who it was when it last got partitions.

        What has been read since was read as that one. Were its offsets committed in a transaction as anybody else (a
        member of the next generation, or of none), the coordinator could not refuse them to who is out of the group.
        """
        return self._reader

    def begins_to_read(self) -> None:
        """The partitions of its generation are assigned."""
        self._reader = GroupMetadata(self.group_id, self.generation_id, self.member_id, self.group_instance_id)

    def ends_reading(self) -> None:
        """It has unsubscribed: what is read from now on is not the group's."""
        self._reader = GroupMetadata(self.group_id, NO_GENERATION, "", self.group_instance_id)

    @property
    def generation_lost(self) -> bool:
        return self.generation_id == NO_GENERATION

    def request_rejoin(self, reason: str) -> None:
        """Join again with the next poll."""
        if not self.rejoin_needed:
            self.rejoin_needed = True
            self.reason = reason

    def _become(self, state: MemberState) -> None:
        assert state in _NEXT[self.state], f"from {self.state.name} to {state.name}"
        self.state = state

    # -- join and sync

    def join_request(self, protocols: Sequence[tuple[str, bytes]]) -> JoinGroupRequest:
        """`protocols` are the assignors' names, best first, and what this member says to each."""
        self._become(MemberState.JOINING)
        self.rejoin_needed = False
        return JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=self.session_timeout_ms,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(name=name, metadata=data) for name, data in protocols],
            reason=self.reason,
        )

    def joined(self, answer: JoinGroupResponse) -> bool:
        """A new generation; whether this member leads it. To be called for answers without error."""
        self._become(MemberState.SYNCING)
        self.generation_id = answer.generation_id
        self.member_id = answer.member_id
        self.protocol_name = answer.protocol_name or ""
        return answer.leader == answer.member_id

    def sync_request(self, assignments: Mapping[str, bytes]) -> SyncGroupRequest:
        return SyncGroupRequest(
            group_id=self.group_id,
            generation_id=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=self.protocol_name,
            assignments=[
                SyncGroupRequestAssignment(member_id=member_id, assignment=data)
                for member_id, data in assignments.items()
            ],
        )

    def synced(self, answer: SyncGroupResponse) -> bytes:
        """This member's part. To be called for answers without error."""
        self._become(MemberState.STABLE)
        return bytes(answer.assignment)

    # -- staying and leaving

    @property
    def beats(self) -> bool:
        """Whether the coordinator expects heartbeats."""
        return self.state in (MemberState.SYNCING, MemberState.STABLE) and not self.generation_lost

    def heartbeat_request(self) -> HeartbeatRequest:
        return HeartbeatRequest(
            group_id=self.group_id,
            generation_id=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
        )

    def leave_request(self, version: int, reason: str) -> LeaveGroupRequest:
        if version < _SEVERAL_LEAVERS:
            return LeaveGroupRequest(group_id=self.group_id, member_id=self.member_id)
        member = MemberIdentity(member_id=self.member_id, group_instance_id=self.group_instance_id, reason=reason)
        return LeaveGroupRequest(group_id=self.group_id, members=[member])

    def forget(self, reason: str, *, member_id: str = "") -> None:
        """Out of the group: the next join is that of a new member, or of one with this id."""
        self._become(MemberState.UNJOINED)
        self.generation_id = NO_GENERATION
        self.member_id = member_id
        self.rejoin_needed = True
        self.reason = reason

    # -- errors

    def refused(self, number: int, asked_in: int, member_id: str = "") -> Reaction:
        """Take an answer's error code; `asked_in` is the generation in which it was asked.

        An answer about an older generation changes nothing: the member has moved on since.
        """
        code = error_code(number)
        reaction = _REACTIONS.get(code, Reaction.RAISE)
        if reaction is Reaction.GIVE_UP:
            self.fatal = ApiError(
                code,
                f"another process uses group.instance.id {self.group_instance_id} of group {self.group_id}; "
                "close this consumer",
            )
        elif asked_in != self.generation_id:
            return Reaction.RETRY if reaction is not Reaction.RAISE else reaction
        if reaction is Reaction.NEW_MEMBER:
            self.forget("the coordinator does not know this member")
        elif reaction is Reaction.NEW_GENERATION:
            self.forget("the generation is over", member_id=self.member_id)
        elif reaction is Reaction.TAKE_ID:
            self.forget(f"need to re-join with the given member-id: {member_id}", member_id=member_id)
        elif reaction is Reaction.REJOIN:
            self.request_rejoin("the group is rebalancing")
        return reaction
