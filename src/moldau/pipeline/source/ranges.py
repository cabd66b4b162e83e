"""Runs of offsets, and how they are shared out among tasks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

from moldau.clients.records import TopicPartition
from moldau.pipeline.options import wrong

_RECORDS_MAX: Final = "maxRecordsPerPartition"


# More tasks than this would be a slip of the pen.
TASKS_MAX: Final = 100_000


class OffsetRange(NamedTuple):
    """The records of a partition from `start` on and before `end`; some offsets may have none."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start

    @property
    def of(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} from {self.start} to {self.end}"


def split(
    ranges: Iterable[OffsetRange], min_partitions: int | None = None, records_max: int | None = None
) -> list[OffsetRange]:
    """One task for each range that has something, and more where options ask for them.

    No task has more than `records_max`. If there are fewer than `min_partitions`, large ranges are cut so that there
    are about so many, each partition in proportion to its size; small ones stay whole.
    """
    tasks = [each for each in ranges if each.size > 0]
    wanted = max(min_partitions or 0, sum(-(-each.size // records_max) for each in tasks) if records_max else 0)
    if wanted > TASKS_MAX:
        name, value = ("minPartitions", min_partitions) if wanted == min_partitions else (_RECORDS_MAX, records_max)
        raise wrong(name, str(value), f"that would be {wanted} tasks; {TASKS_MAX} is the limit")
    if records_max is not None:
        tasks = [piece for each in tasks for piece in _cut(each, -(-each.size // records_max))]
    if min_partitions is None or len(tasks) >= min_partitions:
        return tasks
    total = sum(each.size for each in tasks)
    whole = [each for each in tasks if _parts(each.size, total, min_partitions) == 1]
    cut_total = total - sum(each.size for each in whole)
    left = max(min_partitions - len(whole), 1)
    kept = set(whole)
    return [
        piece
        for each in tasks
        for piece in ([each] if each in kept else _cut(each, _parts(each.size, cut_total, left)))
    ]


def _parts(size: int, total: int, parts: int) -> int:
    return max(1, math.floor(size / total * parts + 0.5))


def _cut(whole: OffsetRange, parts: int) -> list[OffsetRange]:
    """Pieces of about the same size; none is empty."""
    pieces = []
    start = whole.start
    for index in range(min(parts, whole.size)):
        end = start + (whole.end - start) // (min(parts, whole.size) - index)
        pieces.append(whole._replace(start=start, end=end))
        start = end
    return pieces
