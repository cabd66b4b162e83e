"""JoinGroup: becoming a member, or joining again as one.

no member id, no instance id ─► from version 4 on it gets an id and has to come back with it (KIP-394)
no member id, instance id    ─► a static member: new, or back under a new id with its old assignment (KIP-345)
a member id                  ─► a rebalance if something has changed or the leader asks, else the current generation
"""

from __future__ import annotations

import logging
from functools import partial
from random import Random
from typing import NamedTuple
from uuid import UUID

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.coordinator.group.group import ClassicGroup
from moldau.coordinator.group.member import Member, Protocols
from moldau.coordinator.group.rebalances import Rebalances, Records
from moldau.coordinator.group.settings import NEW_MEMBER_JOIN_TIMEOUT_MS, GroupSettings
from moldau.coordinator.group.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from moldau.coordinator.group.stored_records import group_record, new_group_record
from moldau.coordinator.runtime.result import Reply, Result
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse

logger = logging.getLogger(__name__)

MEMBER_ID_REQUIRED_VERSION = 4
SKIP_ASSIGNMENT_VERSION = 9

Joined = Result[JoinGroupResponse]


class Joiner(NamedTuple):
    """Who sends a JoinGroup, and in which version."""

    client_id: str
    client_host: str
    version: int


class Joins:
    """Of the groups of a shard."""

    def __init__(
        self, groups: dict[str, ClassicGroup], rebalances: Rebalances, settings: GroupSettings, random: Random
    ) -> None:
        self._groups = groups
        self._rebalances = rebalances
        self._settings = settings
        self._random = random

    def join(self, request: JoinGroupRequest, joiner: Joiner, now_ms: int) -> Joined:
        group = self._groups.get(request.group_id)
        if group is None:
            if request.member_id:
                raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, "there is no such group")
            return self._join_new_group(request, joiner, ClassicGroup(request.group_id, EMPTY, now_ms))
        if not self._has_room(group, request.member_id):
            self._rebalances.forget(group, request.member_id)
            group.remove(request.member_id)
            return Result(response=JoinGroupResponse(error_code=ErrorCode.GROUP_MAX_SIZE_REACHED))
        self._check_protocols(group, request)
        if request.member_id:
            return self._join_known(request, joiner, group)
        return self._join_new(request, joiner, group)

    def _join_new_group(self, request: JoinGroupRequest, joiner: Joiner, group: ClassicGroup) -> Joined:
        self._check_protocols(group, request)
        self._groups[group.group_id] = group
        record = new_group_record(group)
        result = self._join_new(request, joiner, group)
        return Result((record, *result.records), result.response, is_replayed=False)

    @staticmethod
    def _check_protocols(group: ClassicGroup, request: JoinGroupRequest) -> None:
        if not group.supports(request.protocol_type, [protocol.name for protocol in request.protocols]):
            raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "no protocol that all members support")

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        """Counted are those who wait while a rebalance is prepared: the last ones to come are one too many."""
        member = group.members.get(member_id)
        if group.state is EMPTY:
            return True
        if group.state is PREPARING_REBALANCE:
            is_waiting = member is not None and member.join_reply is not None
            return is_waiting or group.joining < self._settings.max_size
        return member is not None or len(group.members) < self._settings.max_size

    # -- new members

    def _join_new(self, request: JoinGroupRequest, joiner: Joiner, group: ClassicGroup) -> Joined:
        name = joiner.client_id if request.group_instance_id is None else request.group_instance_id
        member_id = f"{name}-{UUID(int=self._random.getrandbits(128), version=4)}"
        if request.group_instance_id is not None:
            known_id = group.static_members.get(request.group_instance_id)
            if known_id is not None:
                return self._come_back(request, joiner, group, group.members[known_id], member_id)
        elif joiner.version >= MEMBER_ID_REQUIRED_VERSION:
            self._rebalances.expect(group, member_id, request.session_timeout_ms)
            return Result(response=JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id))
        return self._add(request, joiner, group, member_id)

    def _add(self, request: JoinGroupRequest, joiner: Joiner, group: ClassicGroup, member_id: str) -> Joined:
        self._rebalances.forget(group, member_id)
        member = Member(
            member_id=member_id,
            group_instance_id=request.group_instance_id,
            client_id=joiner.client_id,
            client_host=joiner.client_host,
            rebalance_timeout_ms=_rebalance_timeout_ms(request),
            session_timeout_ms=request.session_timeout_ms,
            protocols=_protocols(request),
            is_new=True,
        )
        if group.state is PREPARING_REBALANCE and group.previous_state is EMPTY:
            group.has_newcomer = True
        group.add(member, request.protocol_type)
        reply = group.wait_for_join(member)
        # It cannot send heartbeats before it knows its id, and its connection says nothing while the join waits.
        self._rebalances.keep_alive(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
        reason = f"adding new member {member_id}; client reason: {request.reason or 'not provided'}"
        return _waiting(self._rebalances.rebalance(group, reason), reply)

    # -- members that are known

    def _join_known(self, request: JoinGroupRequest, joiner: Joiner, group: ClassicGroup) -> Joined:
        member_id = request.member_id
        if member_id in group.pending_members:
            if request.group_instance_id is not None:
                raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, "the id was given to a member without an instance id")
            return self._add(request, joiner, group, member_id)
        member = group.check_member(member_id, request.group_instance_id)
        is_same = member.protocols == _protocols(request)
        is_leader = member_id == group.leader_id
        if group.state is COMPLETING_REBALANCE and is_same:
            # It may have missed the answer to its join.
            return Result(response=group.joined(member_id, lists_members=is_leader))
        if group.state is STABLE and is_same and not is_leader:
            return Result(response=group.joined(member_id, lists_members=False))
        if group.state is EMPTY:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, "the group is empty")
        # A leader that joins again may want a rebalance for reasons of its own, such as new partitions.
        reply = self._update(request, group, member)
        if group.state is PREPARING_REBALANCE:  # as nearly always: everybody joins because one did
            return _waiting(self._rebalances.complete_if_all_joined(group), reply)
        what = "leader re-joining" if is_leader else "updating metadata"
        reason = f"{what}: member {member_id} in {group.state.value}; client reason: {request.reason or 'not provided'}"
        return _waiting(self._rebalances.rebalance(group, reason), reply)

    @staticmethod
    def _update(request: JoinGroupRequest, group: ClassicGroup, member: Member) -> Reply[JoinGroupResponse]:
        group.update(member, _protocols(request), _rebalance_timeout_ms(request), request.session_timeout_ms)
        return group.wait_for_join(member)

    # -- static members

    def _come_back(
        self, request: JoinGroupRequest, joiner: Joiner, group: ClassicGroup, member: Member, member_id: str
    ) -> Joined:
        """A static member has restarted: it gets a new id, and whoever uses the old one is fenced."""
        before = _Before(member.member_id, member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms)
        old_leader = group.leader_id
        self._rename(group, member, member_id)
        reply = self._update(request, group, member)
        if group.state is STABLE and group.vote() == group.protocol_name:
            # Nothing changes but its id, so that nobody else has to know (KIP-345).
            assignment = {one.member_id: one.assignment for one in group.members.values()}
            told = partial(self._came_back, group, member, before, old_leader, joiner.version)
            return Result((group_record(group, assignment),), reply, is_replayed=False, on_append=told)
        if group.state is PREPARING_REBALANCE:
            return _waiting(self._rebalances.complete_if_all_joined(group), reply)
        reason = f"static member {request.group_instance_id} is back as {member_id}"
        return _waiting(self._rebalances.prepare(group, reason), reply)

    def _rename(self, group: ClassicGroup, member: Member, member_id: str) -> None:
        self._rebalances.forget(group, member.member_id)
        group.rename(member, member_id)
        member.timer_ms = 0.0
        self._rebalances.keep_alive(group, member)

    def _came_back(
        self,
        group: ClassicGroup,
        member: Member,
        before: _Before,
        old_leader: str | None,
        version: int,
        error: ErrorCode,
    ) -> None:
        """Its new id is in the log, or is not and must be forgotten."""
        if group.members.get(member.member_id) is not member:
            return  # it has left, or the whole group has
        if error:
            group.answer_join(member, JoinGroupResponse(error_code=error))
            group.update(member, before.protocols, before.rebalance_timeout_ms, before.session_timeout_ms)
            self._rename(group, member, before.member_id)
            return
        is_leader = member.member_id == group.leader_id
        if version >= SKIP_ASSIGNMENT_VERSION:
            response = group.joined(member.member_id, lists_members=is_leader, skip_assignment=is_leader)
        else:
            # It must not take itself for the leader, since it would then assign anew (KIP-814).
            response = group.joined(member.member_id, lists_members=False)
            response.leader = old_leader or ""
        group.answer_join(member, response)


class _Before(NamedTuple):
    """What a static member was before it came back."""

    member_id: str
    protocols: Protocols
    rebalance_timeout_ms: int
    session_timeout_ms: int


def _protocols(request: JoinGroupRequest) -> Protocols:
    return tuple((protocol.name, protocol.metadata) for protocol in request.protocols)


def _rebalance_timeout_ms(request: JoinGroupRequest) -> int:
    """Version 0 has one timeout for both."""
    return request.session_timeout_ms if request.rebalance_timeout_ms < 0 else request.rebalance_timeout_ms


def _waiting(records: Records, reply: Reply[JoinGroupResponse]) -> Joined:
    return Result(records, reply, is_replayed=False)
