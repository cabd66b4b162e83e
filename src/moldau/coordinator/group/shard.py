"""The groups of one partition of `__consumer_offsets`: their state, and what is replayed into it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from itertools import islice
from random import Random

from moldau.base.error_codes import ErrorCode
from moldau.coordinator.group.expiry import expired_records
from moldau.coordinator.group.group import ClassicGroup
from moldau.coordinator.group.joins import Joins
from moldau.coordinator.group.memberships import Memberships
from moldau.coordinator.group.offset_codec import read_offset_key
from moldau.coordinator.group.offset_commits import OffsetCommits
from moldau.coordinator.group.offset_store import OffsetStore
from moldau.coordinator.group.reads import GroupReads
from moldau.coordinator.group.rebalances import Rebalances
from moldau.coordinator.group.settings import GroupSettings
from moldau.coordinator.group.states import DEAD
from moldau.coordinator.group.stored_records import offset_tombstone, read_group
from moldau.coordinator.runtime.result import Result, StoredRecord
from moldau.coordinator.runtime.shard import ShardContext
from moldau.protocol.codec import decode
from moldau.protocol.messages.join_group import JoinGroupResponse
from moldau.protocol.messages.sync_group import SyncGroupResponse
from moldau.protocol.stored import leading_number
from moldau.protocol.stored.group_metadata import GroupMetadataKey

logger = logging.getLogger(__name__)

OFFSET_KEYS = (0, 1)
GROUP_KEY = 2
NUMBER_BYTES = 2
EXPIRY = "expire"
TOMBSTONES_MAX = 1_000
EXAMINED_MAX = 10_000
"""Tombstones written and offsets looked at in one turn; the rest follows in the next."""


class GroupShard:
    """A `Shard`; the operations on it are in its parts, one for each kind."""

    def __init__(self, context: ShardContext, settings: GroupSettings, random: Random) -> None:
        self.groups: dict[str, ClassicGroup] = {}
        self.offsets = OffsetStore()
        self.rebalances = Rebalances(self.groups, context, settings)
        self.joins = Joins(self.groups, self.rebalances, settings, random)
        self.memberships = Memberships(self.groups, self.rebalances)
        self.commits = OffsetCommits(self.groups, self.offsets, self.rebalances, settings)
        self.reads = GroupReads(self.groups, self.offsets)
        self._context = context
        self._settings = settings
        self._unexamined: list[str] = []  # groups that are still to be looked at for expiry

    # -- the log

    def replay(self, key: bytes, value: bytes | None, producer_id: int) -> None:
        kind = leading_number(key)
        if kind in OFFSET_KEYS:
            group_id, partition = read_offset_key(key)
            if value is None:
                self.offsets.remove(group_id, partition)
            else:
                self.offsets.put(group_id, partition, value, producer_id)
                if group_id not in self.groups:
                    self.groups[group_id] = ClassicGroup(group_id)
        elif kind == GROUP_KEY:
            self._replay_group(decode(GroupMetadataKey, 0, key, NUMBER_BYTES).group, value)

    def _replay_group(self, group_id: str, value: bytes | None) -> None:
        if value is not None:
            self.groups[group_id] = read_group(group_id, value)
        elif (group := self.groups.pop(group_id, None)) is not None:
            group.move_to(DEAD, self._context.clock.now_ms())

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        self.offsets.end_transaction(producer_id, committed)

    # -- life

    def loaded(self) -> None:
        for group in self.groups.values():
            for member in group.members.values():
                self.rebalances.keep_alive(group, member)
            if len(group.members) > self._settings.max_size:
                self.rebalances.prepare(group, f"loaded with more than {self._settings.max_size} members")
        self._expire_later(self._settings.retention_check_interval_ms)

    def unloaded(self) -> None:
        for group in self.groups.values():
            for member in group.members.values():
                gone = JoinGroupResponse(error_code=ErrorCode.NOT_COORDINATOR, member_id=member.member_id)
                group.answer_join(member, gone)
                group.answer_sync(member, SyncGroupResponse(error_code=ErrorCode.NOT_COORDINATOR))
            group.move_to(DEAD, self._context.clock.now_ms())

    # -- what goes with time, and with topics

    def _expire_later(self, delay_ms: int) -> None:
        self._context.timers.schedule(EXPIRY, delay_ms, self.expire)

    def expire(self) -> Result[None]:
        """Write tombstones for what has expired; a few groups in a turn, so that nobody has to wait for long."""
        if not self._unexamined:
            self._unexamined = list(self.groups)
        now_ms = self._context.clock.now_ms()
        records: list[StoredRecord] = []
        examined = 0
        while self._unexamined and examined < EXAMINED_MAX and len(records) < TOMBSTONES_MAX:
            group = self.groups.get(self._unexamined[-1])
            if group is not None:
                examined += 1 + len(self.offsets.committed.get(group.group_id, ()))
                found = expired_records(group, self.offsets, now_ms, self._settings.offsets_retention_ms)
                records += islice(found, TOMBSTONES_MAX - len(records))
            if len(records) < TOMBSTONES_MAX:
                self._unexamined.pop()
        self._expire_later(0 if self._unexamined else self._settings.retention_check_interval_ms)
        if records:
            logger.info("%d tombstones for offsets and groups that have expired", len(records))
        return Result(records)

    def forget_topics(self, topics: Iterable[str]) -> Result[bool]:
        """Write tombstones for the offsets of topics that were deleted, some at a time; whether that is all."""
        found = self.offsets.of_topics(frozenset(topics))
        records = [offset_tombstone(group_id, *key) for group_id, key in islice(found, TOMBSTONES_MAX)]
        return Result(records, len(records) < TOMBSTONES_MAX)
