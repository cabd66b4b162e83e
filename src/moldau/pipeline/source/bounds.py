"""Where reading starts and ends, as options say it; what that is in offsets, a cluster is asked for.

For each side there are three options, of which the first that is given counts, as in Spark's own connector:

    startingTimestamp, endingTimestamp                          one time for all partitions
    startingOffsetsByTimestamp, endingOffsetsByTimestamp        a time for each
    startingOffsets, endingOffsets                              earliest, latest, or an offset for each
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from moldau.clients.records import TopicPartition
from moldau.pipeline.options import OptionError, Options, whole_number, wrong
from moldau.pipeline.source.offsets import EARLIEST, LATEST, parse_offsets


class Kind(Enum):
    EARLIEST = "earliest"
    LATEST = "latest"
    OFFSETS = "offsets"
    TIMES = "a time for each partition"
    TIME = "a time"


@dataclass(frozen=True, slots=True)
class Bound:
    """`by_partition` has offsets, of which -1 is latest and -2 earliest, or times in milliseconds."""

    kind: Kind
    option: str
    value: str
    by_partition: Mapping[TopicPartition, int] = field(default_factory=dict)
    time_ms: int = 0
    latest_if_none: bool = False  # what a time after the last record means

    def __str__(self) -> str:
        return f"{self.option}='{self.value}'"

    def times_of(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """A time for each partition."""
        if self.kind is Kind.TIME:
            return dict.fromkeys(partitions, self.time_ms)
        return {each: self.by_partition[each] for each in partitions}


STRATEGY: Final = "startingOffsetsByTimestampStrategy"


def read_bound(options: Options, side: str, default: Kind) -> Bound:
    """`side` is starting or ending. A time after all records is the end of the log for an ending one."""
    strategy = options.choice(STRATEGY, ("error", "latest"), "error")
    lenient = side == "ending" or strategy == "latest"
    one_time, times, offsets = f"{side}Timestamp", f"{side}OffsetsByTimestamp", f"{side}Offsets"
    if (value := options.get(one_time)) is not None:
        number = whole_number(value)
        if number is None or number < 0:
            raise wrong(one_time, value, "expected a single number, milliseconds since 1970")
        return Bound(Kind.TIME, one_time, value, time_ms=number, latest_if_none=lenient)
    if (value := options.get(times)) is not None:
        by_partition = parse_offsets(times, value, smallest=0)
        return Bound(Kind.TIMES, times, value, by_partition, latest_if_none=lenient)
    value = options.text(offsets, default.value)
    if value.lower() in (Kind.EARLIEST.value, Kind.LATEST.value):
        return Bound(Kind(value.lower()), offsets, value)
    return Bound(Kind.OFFSETS, offsets, value, parse_offsets(offsets, value))


def check_batch_bounds(starting: Bound, ending: Bound) -> None:
    """What a batch cannot do: begin at the end, end at the beginning, or end before it begins."""
    if starting.kind is Kind.LATEST:
        raise OptionError(f"{starting}: starting offset can't be latest for batch queries")
    if ending.kind is Kind.EARLIEST:
        raise OptionError(f"{ending}: ending offset can't be earliest for batch queries")
    if starting.kind is Kind.OFFSETS:
        _refuse(starting, LATEST, "starting offset of {} can't be latest (-1) for batch queries")
    if ending.kind is Kind.OFFSETS:
        _refuse(ending, EARLIEST, "ending offset of {} can't be earliest (-2) for batch queries")
    if starting.kind is ending.kind and starting.kind in (Kind.OFFSETS, Kind.TIMES):
        if starting.by_partition.keys() != ending.by_partition.keys():
            raise OptionError(f"{starting} and {ending}: they have to name the same partitions")
        for partition, start in starting.by_partition.items():
            end = ending.by_partition[partition]
            if start > end >= 0:
                raise OptionError(f"{starting} and {ending}: {partition} would end before it begins")
    if starting.kind is ending.kind is Kind.TIME and starting.time_ms > ending.time_ms:
        raise OptionError(f"{starting} and {ending}: it would end before it begins")


def _refuse(bound: Bound, offset: int, text: str) -> None:
    for partition, given in bound.by_partition.items():
        if given == offset:
            raise OptionError(f"{bound}: {text.format(partition)}")
