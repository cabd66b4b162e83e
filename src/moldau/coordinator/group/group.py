"""A classic group: its members, who leads them, which protocol they agree on, and in which state they are.

Nothing here waits, writes or asks the time; `Rebalances` moves it from state to state. The leader is the first to join,
and when it goes the first of those who remain. A group without a protocol type has never had members: it is a simple
one, whose consumers assign partitions to themselves and only commit offsets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, MalformedMessage
from moldau.coordinator.group.member import Member, Protocols
from moldau.coordinator.group.states import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    FOLLOWING,
    PREPARING_REBALANCE,
    GroupState,
)
from moldau.coordinator.runtime.result import Reply
from moldau.protocol.codec import decode
from moldau.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from moldau.protocol.messages.sync_group import SyncGroupResponse
from moldau.protocol.stored.consumer_protocol import ConsumerProtocolSubscription

CONSUMER_PROTOCOL_TYPE = "consumer"
VERSION_BYTES = 2


class ClassicGroup:
    """`state_since_ms` is wall time; None if a group was stored before Kafka wrote it down (KIP-211)."""

    def __init__(self, group_id: str, state: GroupState = EMPTY, state_since_ms: int | None = None) -> None:
        self.group_id = group_id
        self.state = state
        self.previous_state = DEAD
        self.state_since_ms = state_since_ms
        self.generation_id = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}  # group instance id → member id
        self.pending_members: set[str] = set()  # have been given an id, and have not joined with it yet (KIP-394)
        self.unsynced_members: set[str] = set()  # have not asked for the assignment of this generation yet
        self.subscribed_topics: frozenset[str] | None = None
        self.has_newcomer = False  # somebody has joined while the first rebalance was being delayed
        self.joining = 0  # how many members wait for the answer to a join
        self._supporters: Counter[str] = Counter()  # how many members support each protocol

    # -- states

    def move_to(self, state: GroupState, now_ms: int) -> None:
        assert state in FOLLOWING[self.state], f"group {self.group_id}: {self.state} is not followed by {state}"
        self.previous_state, self.state = self.state, state
        self.state_since_ms = now_ms

    def next_generation(self, now_ms: int) -> None:
        """All who are to join have joined."""
        self.generation_id += 1
        self.protocol_name = self.vote() if self.members else None
        self.find_subscribed_topics()
        self.move_to(COMPLETING_REBALANCE if self.members else EMPTY, now_ms)
        self.unsynced_members.clear()

    @property
    def can_rebalance(self) -> bool:
        return PREPARING_REBALANCE in FOLLOWING[self.state]

    @property
    def has_all_joined(self) -> bool:
        return self.joining == len(self.members) and not self.pending_members

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # -- members

    def add(self, member: Member, protocol_type: str) -> None:
        if not self.members:
            self.protocol_type = protocol_type
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self.static_members, "an instance is a member once"
            self.static_members[member.group_instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._supporters.update(name for name, _ in member.protocols)
        self.pending_members.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """Of a member, or of one that was given an id only."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._supporters.subtract(name for name, _ in member.protocols)
            self.joining -= member.join_reply is not None
            if member.group_instance_id is not None:
                self.static_members.pop(member.group_instance_id, None)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self.pending_members.discard(member_id)
        self.unsynced_members.discard(member_id)

    def update(self, member: Member, protocols: Protocols, rebalance_timeout_ms: int, session_timeout_ms: int) -> None:
        """What a member that joins again says of itself."""
        if member.protocols != protocols:
            self._supporters.subtract(name for name, _ in member.protocols)
            self._supporters.update(name for name, _ in protocols)
            member.protocols = protocols
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def rename(self, member: Member, member_id: str) -> None:
        """A static member has come back and got a new id (KIP-345); whoever waits under the old one is fenced."""
        assert member.group_instance_id is not None
        old_id = member.member_id
        self.answer_join(member, JoinGroupResponse(error_code=ErrorCode.FENCED_INSTANCE_ID, member_id=old_id))
        self.answer_sync(member, SyncGroupResponse(error_code=ErrorCode.FENCED_INSTANCE_ID))
        del self.members[old_id]
        member.member_id = member_id
        member.is_new = False
        self.members[member_id] = member
        self.static_members[member.group_instance_id] = member_id
        if self.leader_id == old_id:
            self.leader_id = member_id
        if old_id in self.unsynced_members:
            self.unsynced_members.remove(old_id)
            self.unsynced_members.add(member_id)

    def elect_joined_leader(self) -> bool:
        """See to it that the leader is somebody who waits for the join; False if nobody does."""
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].join_reply is None:
            joined = next((one for one in self.members.values() if one.join_reply is not None), None)
            if joined is None:
                return False
            self.leader_id = joined.member_id
        return True

    def check_member(self, member_id: str, group_instance_id: str | None) -> Member:
        """The member, or the refusal of who says to be it."""
        if group_instance_id is not None:
            known_id = self.static_members.get(group_instance_id)
            if known_id is None:
                raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"{group_instance_id} is no instance of the group")
            if known_id != member_id:
                raise ApiError(ErrorCode.FENCED_INSTANCE_ID, f"{group_instance_id} is {known_id} now")
        member = self.members.get(member_id)
        if member is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, "not a member of the group")
        return member

    # -- answers to those who wait

    def wait_for_join(self, member: Member) -> Reply[JoinGroupResponse]:
        """The answer that the member gets when everybody has joined; an older request of it is superseded."""
        self.answer_join(member, JoinGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        reply = member.join_reply = Reply()
        self.joining += 1
        return reply

    def answer_join(self, member: Member, response: JoinGroupResponse) -> None:
        """Answer the join of a member, if it waits for one."""
        if member.join_reply is not None:
            reply, member.join_reply = member.join_reply, None
            self.joining -= 1
            reply.give(response)

    def answer_sync(self, member: Member, response: SyncGroupResponse) -> bool:
        """Answer the sync of a member, if it waits for one; whether it did."""
        if member.sync_reply is None:
            return False
        reply, member.sync_reply = member.sync_reply, None
        reply.give(response)
        return True

    def joined(self, member_id: str, *, lists_members: bool, skip_assignment: bool = False) -> JoinGroupResponse:
        """The answer to a join in the current generation."""
        return JoinGroupResponse(
            generation_id=self.generation_id,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=self.leader_id or "",
            skip_assignment=skip_assignment,
            member_id=member_id,
            members=self._listed() if lists_members else [],
        )

    def _listed(self) -> list[JoinGroupResponseMember]:
        assert self.protocol_name is not None, "a generation with members has a protocol"
        return [
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.metadata(self.protocol_name),
            )
            for member in self.members.values()
        ]

    # -- protocols

    def supports(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a member with these protocols would leave at least one that everybody supports."""
        if self.state is EMPTY:
            return bool(protocol_type) and any(True for _ in names)
        count = len(self.members)
        return protocol_type == self.protocol_type and any(self._supporters[name] == count for name in names)

    def vote(self) -> str:
        """Each member votes for its favourite of those that all support; the most votes win, the first of equals."""
        count = len(self.members)
        candidates = {name for name, supporters in self._supporters.items() if supporters == count}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def find_subscribed_topics(self) -> None:
        """What the members of a group of consumers subscribe to; None where that cannot be known."""
        self.subscribed_topics = None
        if not self.uses_consumer_protocol:
            return
        topics: set[str] = set()
        if self.members:
            if self.protocol_name is None:
                return
            blobs = {member.metadata(self.protocol_name) for member in self.members.values()}  # mostly the same
            try:
                for blob in blobs:
                    # Every version of the blob begins as the first does.
                    topics.update(decode(ConsumerProtocolSubscription, 0, blob, VERSION_BYTES).topics)
            except MalformedMessage:
                return
        self.subscribed_topics = frozenset(topics)

    def is_subscribed_to(self, topic: str) -> bool:
        """True as well where it cannot be known: offsets that may be needed are kept."""
        if self.subscribed_topics is not None:
            return topic in self.subscribed_topics
        return self.uses_consumer_protocol
