"""How much of what is new a batch takes: `maxOffsetsPerTrigger`, `minOffsetsPerTrigger`, `maxTriggerDelay`."""

from __future__ import annotations

import math
from collections.abc import Mapping

from moldau.clients.records import TopicPartition
from moldau.pipeline.source.offsets import PartitionOffsets


def new_offsets(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> int:
    """How many offsets are new; partitions that are new themselves count from 0."""
    return sum(max(0, offset - start.get(each, 0)) for each, offset in end.items())


def limited(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int], limit: int) -> PartitionOffsets:
    """An end with at most about `limit` new offsets, which partitions share in proportion to what they have.

    None of them starves: each with something new gets one at least. `start` has all partitions of `end`.
    """
    sizes = {each: end[each] - start[each] for each in end if end[each] > start[each]}
    total = sum(sizes.values())
    if total <= limit:
        return dict(end)
    shares = {each: limit * (size / total) for each, size in sizes.items()}
    taken = {each: math.ceil(share) if share < 1 else math.floor(share) for each, share in shares.items()}
    return {each: min(offset, start[each] + taken[each]) if each in taken else offset for each, offset in end.items()}


class Delay:
    """Whether a batch waits for more records: until there are enough, or the last batch is too long ago."""

    def __init__(self, least: int | None, delay_ms_max: int) -> None:
        self._least = least
        self._delay_ms_max = delay_ms_max
        self._last_ms = -math.inf

    def waits(self, count: int, now_ms: float) -> bool:
        if self._least is None:
            return False
        if count < self._least and now_ms - self._last_ms < self._delay_ms_max:
            return True
        if count:
            self._last_ms = now_ms
        return False
