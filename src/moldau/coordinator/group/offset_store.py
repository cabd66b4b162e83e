"""The offsets that groups have committed, and those that wait for the end of a transaction.

Both change by replaying records only. A transaction's offsets become the group's when its marker says so, except where
a later record has committed the same partition outside of it: what counts is the order of the log, which compaction
keeps while it may remove the record in between.
"""

from __future__ import annotations

from collections.abc import Iterator

from moldau.coordinator.group.offset_codec import CommittedOffset, read_offset_value

TopicPartition = tuple[str, int]
Offsets = dict[TopicPartition, CommittedOffset]
NO_OFFSETS: Offsets = {}
NO_PRODUCER_ID = -1


class OffsetStore:
    """Of the groups of a shard, by group id."""

    def __init__(self) -> None:
        self.committed: dict[str, Offsets] = {}
        self._pending: dict[int, dict[str, Offsets]] = {}  # producer id → group id → offsets
        self._open: dict[str, set[int]] = {}  # group id → producer ids of its open transactions
        self._order = 0

    # -- replay

    def put(self, group_id: str, key: TopicPartition, value: bytes, producer_id: int) -> None:
        self._order += 1
        committed = read_offset_value(value, self._order)
        if producer_id == NO_PRODUCER_ID:
            self._put(group_id, key, committed)
        else:
            self._pending.setdefault(producer_id, {}).setdefault(group_id, {})[key] = committed
            self._open.setdefault(group_id, set()).add(producer_id)

    def _put(self, group_id: str, key: TopicPartition, committed: CommittedOffset) -> None:
        offsets = self.committed.get(group_id)
        if offsets is None:
            offsets = self.committed[group_id] = {}
        offsets[key] = committed

    def remove(self, group_id: str, key: TopicPartition) -> None:
        """A tombstone: of what is committed and of what waits."""
        self._order += 1
        offsets = self.committed.get(group_id)
        if offsets is not None:
            offsets.pop(key, None)
            if not offsets:
                del self.committed[group_id]
        for producer_id in self._open.get(group_id, ()):
            self._pending[producer_id][group_id].pop(key, None)

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        """Its marker: what waited for it is committed, or never was."""
        for group_id, offsets in self._pending.pop(producer_id, {}).items():
            producers = self._open[group_id]
            producers.discard(producer_id)
            if not producers:
                del self._open[group_id]
            if committed:
                known = self.committed.get(group_id, NO_OFFSETS)
                for key, offset in offsets.items():
                    if key not in known or known[key].order < offset.order:
                        self._put(group_id, key, offset)

    # -- to look at

    def is_pending(self, group_id: str, key: TopicPartition) -> bool:
        """Whether an open transaction has an offset for it."""
        return any(key in self._pending[producer_id][group_id] for producer_id in self._open.get(group_id, ()))

    def has_open_transactions(self, group_id: str) -> bool:
        return group_id in self._open

    def known_keys(self, group_id: str) -> set[TopicPartition]:
        """The partitions with an offset that is committed or waits."""
        keys = set(self.committed.get(group_id, NO_OFFSETS))
        for producer_id in self._open.get(group_id, ()):
            keys.update(self._pending[producer_id][group_id])
        return keys

    def of_topics(self, topics: frozenset[str]) -> Iterator[tuple[str, TopicPartition]]:
        """Every offset of these topics, committed or waiting, with its group; one that waits perhaps more than once."""
        for group_id, offsets in self.committed.items():
            for key in offsets:
                if key[0] in topics:
                    yield group_id, key
        for waiting in self._pending.values():
            for group_id, offsets in waiting.items():
                known = self.committed.get(group_id, NO_OFFSETS)
                for key in offsets:
                    if key[0] in topics and key not in known:
                        yield group_id, key
