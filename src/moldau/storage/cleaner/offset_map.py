"""The last offset of each key in the dirty part of a log, within a budget of memory.

Kafka keeps 24 bytes for a key: a hash and an offset. A dict of Python is much faster than anything else that can be
written in it and needs more: `ENTRY_BYTES`, measured. So the same `log.cleaner.dedupe.buffer.size` holds fewer keys
here; when it is full, the log is cleaned up to there, and the rest in the next run.

It is many small dicts instead of one: a dict of a million keys that grows, or is dropped, holds the interpreter for
30 ms and more, and the event loop with it. The top bits of a key's hash choose the dict, because a dict itself
uses the bottom ones.
"""

from __future__ import annotations

from collections.abc import Callable

from moldau.storage.cleaner.key_scan import ScannedRecords

ENTRY_BYTES = 160  # measured: 123 for keys of 8 bytes, 138 for 16, 158 for 32 and for digests of longer ones
_SHARDS = 512
_SHARD_SHIFT = 64 - _SHARDS.bit_length() + 1  # leaves -256 to 255, which all are indexes of a list


class OffsetMap:
    """From keys, or their digests, to offsets."""

    def __init__(self, budget_bytes: int, load_factor: float = 1.0) -> None:
        self.entries_max = max(1, int(budget_bytes * load_factor / ENTRY_BYTES))
        self.latest_offset = -1
        """All keys up to here are known."""
        self._shards: list[dict[bytes, int]] = [{} for _ in range(_SHARDS)]
        self._entries_at_most = 0

    def __len__(self) -> int:
        return sum(map(len, self._shards))

    @property
    def utilization(self) -> float:
        return len(self) / self.entries_max

    def has_room(self, count: int) -> bool:
        """Whether so many more keys fit; into an empty map any number does, or nothing would ever be cleaned."""
        if self._entries_at_most + count > self.entries_max:
            self._entries_at_most = len(self)
        return self._entries_at_most + count <= self.entries_max or not self._entries_at_most

    def add(self, records: ScannedRecords, base_offset: int, first_offset: int) -> None:
        """Note the offsets of records from `first_offset` on; records come in the order of their offsets."""
        shards = self._shards
        self._entries_at_most += len(records.keys)
        for key, delta in zip(records.keys, records.offset_deltas, strict=True):
            if key is not None and base_offset + delta >= first_offset:
                shards[hash(key) >> _SHARD_SHIFT][key] = base_offset + delta

    def retained(self, records: ScannedRecords, base_offset: int, last_offset: int) -> list[int]:
        """Which records of a batch are the last of their key as far as is known; those without a key are not."""
        shards = self._shards
        known_delta = self.latest_offset - base_offset
        if last_offset <= self.latest_offset:
            return [
                index
                for index, (key, delta) in enumerate(zip(records.keys, records.offset_deltas, strict=True))
                if key is not None and shards[hash(key) >> _SHARD_SHIFT].get(key, -1) - base_offset <= delta
            ]
        return [
            index
            for index, (key, delta) in enumerate(zip(records.keys, records.offset_deltas, strict=True))
            if delta > known_delta
            or (key is not None and shards[hash(key) >> _SHARD_SHIFT].get(key, -1) - base_offset <= delta)
        ]

    def without_tombstones(self, kept: list[int], records: ScannedRecords, base_offset: int) -> list[int]:
        """What stays of records whose tombstones may go; where the map does not reach, they may not."""
        known_delta = self.latest_offset - base_offset
        gone = {index for index in records.tombstones if records.offset_deltas[index] <= known_delta}
        return [index for index in kept if index not in gone]

    def clear(self, pause: Callable[[], None] = lambda: None) -> None:
        """Forget everything, with a pause after each part: it takes 100 ms for a million keys."""
        for shard in self._shards:
            shard.clear()
            pause()
        self.latest_offset = -1
        self._entries_at_most = 0
