"""SyncGroup, Heartbeat and LeaveGroup: what members do between one join and the next."""

from __future__ import annotations

import logging
from functools import partial

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.coordinator.group.group import ClassicGroup
from moldau.coordinator.group.member import Member
from moldau.coordinator.group.rebalances import Rebalances, Records
from moldau.coordinator.group.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from moldau.coordinator.group.stored_records import group_record
from moldau.coordinator.runtime.result import Reply, Result
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from moldau.protocol.messages.leave_group import LeaveGroupResponse, MemberIdentity, MemberResponse
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

logger = logging.getLogger(__name__)


class Memberships:
    """Of the groups of a shard."""

    def __init__(self, groups: dict[str, ClassicGroup], rebalances: Rebalances) -> None:
        self._groups = groups
        self._rebalances = rebalances

    # -- assignments

    def sync(self, request: SyncGroupRequest) -> Result[SyncGroupResponse]:
        group = self._groups.get(request.group_id)
        if group is None or group.state is EMPTY:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, "the group has no members")
        member = group.check_member(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation_id:
            raise ApiError(ErrorCode.ILLEGAL_GENERATION, f"the generation is {group.generation_id}")
        if request.protocol_type not in (None, group.protocol_type) or request.protocol_name not in (
            None,
            group.protocol_name,
        ):
            raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"the protocol is {group.protocol_name}")
        if group.state is PREPARING_REBALANCE:
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS, "join again")
        self._rebalances.synced(group, member.member_id)
        if group.state is STABLE:
            return Result(response=_assigned(group, member))
        return self._wait_for_assignment(request, group, member)

    def _wait_for_assignment(
        self, request: SyncGroupRequest, group: ClassicGroup, member: Member
    ) -> Result[SyncGroupResponse]:
        group.answer_sync(member, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        reply: Reply[SyncGroupResponse] = Reply()
        member.sync_reply = reply
        if member.member_id != group.leader_id:
            return Result(response=reply)
        assigned = {one.member_id: one.assignment for one in request.assignments}
        assignment = {member_id: assigned.get(member_id, b"") for member_id in group.members}
        told = partial(self._assignment_written, group, group.generation_id, assignment)
        return Result((group_record(group, assignment),), reply, is_replayed=False, on_append=told)

    def _assignment_written(
        self, group: ClassicGroup, generation_id: int, assignment: dict[str, bytes], error: ErrorCode
    ) -> None:
        if group.state is not COMPLETING_REBALANCE or group.generation_id != generation_id:
            return  # somebody has joined or left meanwhile, and a rebalance is under way
        if not error:
            self._rebalances.assign(group, assignment)
            return
        self._rebalances.share_error(group, error)
        records = self._rebalances.rebalance(group, f"{error.name} when the assignment was written")
        assert not records, "a group with members does not become empty by this"

    # -- life

    def heartbeat(self, request: HeartbeatRequest) -> HeartbeatResponse:
        group = self._groups.get(request.group_id)
        if group is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, "there is no such group")
        member = group.check_member(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation_id:
            raise ApiError(ErrorCode.ILLEGAL_GENERATION, f"the generation is {group.generation_id}")
        self._rebalances.keep_alive(group, member)
        if group.state is PREPARING_REBALANCE:
            return HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
        return HeartbeatResponse()

    # -- leaving

    def leave(self, group_id: str, leaving: list[MemberIdentity]) -> Result[LeaveGroupResponse]:
        """Members leave, or are removed by an administrator, who names static ones by their instance id alone."""
        group = self._groups.get(group_id)
        if group is None:
            unknown = [_left(one, ErrorCode.UNKNOWN_MEMBER_ID) for one in leaving]
            return Result(response=LeaveGroupResponse(members=unknown))
        members = []
        for one in leaving:
            try:
                self._leave(group, one)
                members.append(_left(one, ErrorCode.NONE))
            except ApiError as error:
                members.append(_left(one, error.code))
        records: Records = ()
        left = [one.member_id or str(one.group_instance_id) for one in members if not one.error_code]
        if left:
            if group.state in (STABLE, COMPLETING_REBALANCE):
                records = self._rebalances.prepare(group, f"{', '.join(left)} left")
            elif group.state is PREPARING_REBALANCE:
                records = self._rebalances.complete_if_all_joined(group)
        return Result(records, LeaveGroupResponse(members=members), is_replayed=False)

    def _leave(self, group: ClassicGroup, leaving: MemberIdentity) -> None:
        member_id = leaving.member_id
        if not member_id and leaving.group_instance_id is not None:
            member_id = group.static_members.get(leaving.group_instance_id, "")
        if member_id in group.pending_members:
            self._rebalances.forget(group, member_id)
            group.remove(member_id)
            return
        member = group.check_member(member_id, leaving.group_instance_id)
        logger.info("group %s: member %s leaves: %s", group.group_id, member_id, leaving.reason or "not provided")
        self._rebalances.dismiss(group, member)


def _assigned(group: ClassicGroup, member: Member) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
    )


def _left(leaving: MemberIdentity, error: ErrorCode) -> MemberResponse:
    return MemberResponse(member_id=leaving.member_id, group_instance_id=leaving.group_instance_id, error_code=error)
