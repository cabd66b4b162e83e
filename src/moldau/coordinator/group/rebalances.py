"""What moves groups from state to state: members that come and go, and time.

A rebalance is prepared until every member has joined, or until the longest of their rebalance timeouts is over: who has
not joined by then is out, unless it is static. The first rebalance of a group waits a little for more members, and
again whenever somebody has joined meanwhile. With the answers to the joins a generation begins, in which every member
has to ask for its assignment within the same timeout.

The time of a member's session is counted by looking: a heartbeat only says until when the session lasts, and the timer
that finds it longer than it thought is set again.
"""

from __future__ import annotations

import logging
from functools import partial
from math import ceil

from moldau.base.error_codes import ErrorCode
from moldau.coordinator.group.group import ClassicGroup
from moldau.coordinator.group.member import Member
from moldau.coordinator.group.settings import GroupSettings
from moldau.coordinator.group.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from moldau.coordinator.group.stored_records import group_record
from moldau.coordinator.runtime.result import Result, StoredRecord
from moldau.coordinator.runtime.shard import ShardContext
from moldau.protocol.messages.join_group import JoinGroupResponse
from moldau.protocol.messages.sync_group import SyncGroupResponse

logger = logging.getLogger(__name__)

Records = tuple[StoredRecord, ...]
"""What a change of state has to write: nothing, or that a group has become empty. The group has changed already."""


class Rebalances:
    """Of the groups of a shard."""

    def __init__(self, groups: dict[str, ClassicGroup], context: ShardContext, settings: GroupSettings) -> None:
        self._groups = groups
        self._clock = context.clock
        self._timers = context.timers
        self._settings = settings

    # -- sessions

    def keep_alive(self, group: ClassicGroup, member: Member, timeout_ms: int | None = None) -> None:
        """A sign of life of a member: its session lasts for its timeout, or for another one, from now on."""
        now_ms = self._clock.monotonic_ms()
        end_ms = member.session_end_ms = now_ms + (member.session_timeout_ms if timeout_ms is None else timeout_ms)
        if end_ms < member.timer_ms or member.timer_ms <= now_ms:
            self._watch(group.group_id, member, now_ms)

    def _watch(self, group_id: str, member: Member, now_ms: float) -> None:
        member.timer_ms = member.session_end_ms
        expire = partial(self._look_at_session, group_id, member.member_id)
        self._timers.schedule((group_id, member.member_id), ceil(member.session_end_ms - now_ms), expire)

    def expect(self, group: ClassicGroup, member_id: str, timeout_ms: int) -> None:
        """A member id has been given out: it is forgotten if nobody joins with it."""
        group.pending_members.add(member_id)
        expire = partial(self._look_at_session, group.group_id, member_id)
        self._timers.schedule((group.group_id, member_id), timeout_ms, expire)

    def forget(self, group: ClassicGroup, member_id: str) -> None:
        """Nobody looks for signs of life under this id any more."""
        self._timers.cancel((group.group_id, member_id))

    def _look_at_session(self, group_id: str, member_id: str) -> Result[None]:
        group = self._groups.get(group_id)
        if group is None:
            return Result()
        if member_id in group.pending_members:
            group.remove(member_id)
            if group.state is PREPARING_REBALANCE and group.has_all_joined:
                return _written(self._complete_join(group))
            return Result()
        member = group.members.get(member_id)
        if member is None:
            return Result()
        now_ms = self._clock.monotonic_ms()
        member.timer_ms = 0.0
        if member.session_end_ms > now_ms:
            self._watch(group_id, member, now_ms)
            return Result()
        if member.is_excused:
            return Result()
        logger.info("group %s: member %s is silent, and is removed", group_id, member_id)
        self.dismiss(group, member)
        if group.state is PREPARING_REBALANCE:
            return _written(self._complete_join(group) if group.has_all_joined else ())
        return _written(self.rebalance(group, f"removing member {member_id} on heartbeat expiration"))

    def dismiss(self, group: ClassicGroup, member: Member) -> None:
        """A member is out of the group; if it waits after all, it is told and joins anew."""
        self.forget(group, member.member_id)
        group.answer_join(member, JoinGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
        group.answer_sync(member, SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
        group.remove(member.member_id)

    # -- joins

    def rebalance(self, group: ClassicGroup, reason: str) -> Records:
        """Prepare a rebalance; if one is being prepared, complete it if that was what it waited for."""
        return self.prepare(group, reason) if group.can_rebalance else self.complete_if_all_joined(group)

    def complete_if_all_joined(self, group: ClassicGroup) -> Records:
        """The first rebalance is not completed by this: it waits for its delay."""
        is_complete = group.state is PREPARING_REBALANCE and group.has_all_joined and group.previous_state is not EMPTY
        return self._complete_join(group) if is_complete else ()

    def prepare(self, group: ClassicGroup, reason: str) -> Records:
        """Everybody has to join again."""
        if group.state is COMPLETING_REBALANCE:
            self.share_error(group, ErrorCode.REBALANCE_IN_PROGRESS)
        group.unsynced_members.clear()
        self._timers.cancel(_sync_key(group))
        is_first = group.state is EMPTY
        logger.info("group %s: rebalance of generation %d: %s", group.group_id, group.generation_id, reason)
        group.move_to(PREPARING_REBALANCE, self._clock.now_ms())
        if is_first:
            delay_ms = self._settings.initial_rebalance_delay_ms
            self._delay_first(group, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
            return ()
        if group.has_all_joined:
            return self._complete_join(group)
        self._complete_later(group)
        return ()

    def _delay_first(self, group: ClassicGroup, delay_ms: int, remaining_ms: int) -> None:
        wait = partial(self._complete_first, group.group_id, delay_ms, remaining_ms)
        self._timers.schedule(_join_key(group), delay_ms, wait)

    def _complete_first(self, group_id: str, delay_ms: int, remaining_ms: int) -> Result[None]:
        group = self._groups.get(group_id)
        if group is None:
            return Result()
        if group.has_newcomer and remaining_ms:
            group.has_newcomer = False
            next_ms = min(self._settings.initial_rebalance_delay_ms, remaining_ms)
            self._delay_first(group, next_ms, max(remaining_ms - delay_ms, 0))
            return Result()
        return _written(self._complete_join(group))

    def _complete_later(self, group: ClassicGroup) -> None:
        expire = partial(self._expire_join, group.group_id)
        self._timers.schedule(_join_key(group), group.rebalance_timeout_ms, expire)

    def _expire_join(self, group_id: str) -> Result[None]:
        group = self._groups.get(group_id)
        return Result() if group is None else _written(self._complete_join(group))

    def _complete_join(self, group: ClassicGroup) -> Records:
        """Begin a generation with those who have joined."""
        self._timers.cancel(_join_key(group))
        late = [one for one in group.members.values() if one.join_reply is None and not one.is_static]
        for member in late:
            logger.info("group %s: member %s has not joined in time", group.group_id, member.member_id)
            self.forget(group, member.member_id)
            group.remove(member.member_id)
        if group.members and not group.elect_joined_leader():
            # Static members only, and none has come: they keep their places until their sessions end.
            self._complete_later(group)
            return ()
        group.has_newcomer = False
        group.next_generation(self._clock.now_ms())
        if group.state is EMPTY:
            logger.info("group %s is empty in generation %d", group.group_id, group.generation_id)
            return (group_record(group, {}),)
        for member in group.members.values():
            is_leader = member.member_id == group.leader_id
            group.answer_join(member, group.joined(member.member_id, lists_members=is_leader))
            self.keep_alive(group, member)
            member.is_new = False
            group.unsynced_members.add(member.member_id)
        expire = partial(self._expire_sync, group.group_id, group.generation_id)
        self._timers.schedule(_sync_key(group), group.rebalance_timeout_ms, expire)
        logger.info("group %s: generation %d has %d members", group.group_id, group.generation_id, len(group.members))
        return ()

    # -- syncs

    def synced(self, group: ClassicGroup, member_id: str) -> None:
        """A member has asked for its assignment."""
        group.unsynced_members.discard(member_id)
        if not group.unsynced_members:
            self._timers.cancel(_sync_key(group))

    def _expire_sync(self, group_id: str, generation_id: int) -> Result[None]:
        group = self._groups.get(group_id)
        if group is None or group.generation_id != generation_id or not group.unsynced_members:
            return Result()
        assert group.state in (COMPLETING_REBALANCE, STABLE), "preparing a rebalance ends the wait for syncs"
        late = sorted(group.unsynced_members)
        for member_id in late:
            self.forget(group, member_id)
            group.remove(member_id)
        return _written(self.prepare(group, f"removing {late} on pending sync request expiration"))

    def assign(self, group: ClassicGroup, assignment: dict[str, bytes]) -> None:
        """The leader's assignment is in the log: everybody gets its part."""
        for member in group.members.values():
            member.assignment = assignment.get(member.member_id, b"")
            response = SyncGroupResponse(
                protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
            )
            if group.answer_sync(member, response):
                self.keep_alive(group, member)
        group.move_to(STABLE, self._clock.now_ms())

    def share_error(self, group: ClassicGroup, error: ErrorCode) -> None:
        """There will be no assignment in this generation."""
        for member in group.members.values():
            member.assignment = b""
            if group.answer_sync(member, SyncGroupResponse(error_code=error)):
                self.keep_alive(group, member)


def _written(records: Records) -> Result[None]:
    return Result(records, is_replayed=False)


def _join_key(group: ClassicGroup) -> tuple[str, int]:
    return group.group_id, 0


def _sync_key(group: ClassicGroup) -> tuple[str, int]:
    return group.group_id, 1
