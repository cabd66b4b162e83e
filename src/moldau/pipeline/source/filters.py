"""Filters that Spark pushes into a batch read: what of partitions and offsets need not be read at all.

Taken are comparisons of topic, partition and offset with constants, which are then exact and not done again. A lower
bound of timestamps is used to begin later, since a broker knows the first record of a time or later; but records need
not be in the order of their times, so Spark filters as well. An upper bound says nothing about where to end.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from moldau.clients.records import TopicPartition
from moldau.pipeline.source.ranges import OffsetRange

Test = Callable[[Any], bool]

_NEVER_NULL: Final = frozenset({"topic", "partition", "offset", "timestamp", "timestampType"})
_COMPARISONS: Final[dict[type[Filter], Callable[[Any, Any], bool]]] = {
    EqualTo: operator.eq,
    GreaterThan: operator.gt,
    GreaterThanOrEqual: operator.ge,
    LessThan: operator.lt,
    LessThanOrEqual: operator.le,
    In: lambda value, choices: value in choices,
    StringStartsWith: lambda value, beginning: value.startswith(beginning),
}
_LOWER: Final = (EqualTo, GreaterThan, GreaterThanOrEqual)


class Narrowing:
    """What the filters that were taken leave to be read; without any, everything."""

    def __init__(self) -> None:
        self.time_ms: int | None = None
        self._offset_min = 0
        self._offset_end: int | None = None
        self._tests: dict[str, list[Test]] = {"topic": [], "partition": []}

    def take(self, pushed: Filter) -> bool:
        """Whether Spark need not filter by it any more."""
        inner, negated = (pushed.child, True) if isinstance(pushed, Not) else (pushed, False)
        attribute: tuple[str, ...] = getattr(inner, "attribute", ())
        if len(attribute) != 1:
            return False
        name = attribute[0]
        if isinstance(inner, IsNotNull):
            return name in _NEVER_NULL and not negated
        value = getattr(inner, "value", None)
        if name in self._tests:
            return self._take_test(name, inner, value, negated)
        if negated or value is None:
            return False
        if name == "offset":
            return self._take_offset(inner, value)
        if name == "timestamp" and isinstance(inner, _LOWER):
            self._take_time(value)
        return False

    def keeps(self, partition: TopicPartition) -> bool:
        return all(test(partition.topic) for test in self._tests["topic"]) and all(
            test(partition.partition) for test in self._tests["partition"]
        )

    def narrow(self, whole: OffsetRange) -> OffsetRange:
        start = max(whole.start, self._offset_min)
        end = whole.end if self._offset_end is None else min(whole.end, self._offset_end)
        return whole._replace(start=start, end=max(start, end))

    def _take_test(self, name: str, pushed: Filter, value: Any, negated: bool) -> bool:
        compare = _COMPARISONS.get(type(pushed))
        kind = str if name == "topic" else int
        values = value if isinstance(pushed, In) else [value]
        # SQL's null is neither in a list nor not in it: such filters are left to Spark.
        if compare is None or not values or not all(isinstance(each, kind) for each in values):
            return False
        self._tests[name].append(lambda seen: compare(seen, value) is not negated)
        return True

    def _take_offset(self, pushed: Filter, value: Any) -> bool:
        if not isinstance(value, int):
            return False
        if isinstance(pushed, EqualTo):
            self._at_least(value)
            self._before(value + 1)
        elif isinstance(pushed, GreaterThan | GreaterThanOrEqual):
            self._at_least(value + isinstance(pushed, GreaterThan))
        elif isinstance(pushed, LessThan | LessThanOrEqual):
            self._before(value + isinstance(pushed, LessThanOrEqual))
        else:
            return False
        return True

    def _at_least(self, offset: int) -> None:
        self._offset_min = max(self._offset_min, offset)

    def _before(self, offset: int) -> None:
        self._offset_end = offset if self._offset_end is None else min(self._offset_end, offset)

    def _take_time(self, value: Any) -> None:
        if isinstance(value, datetime) and value.tzinfo is not None and value.timestamp() >= 0:
            # Down to a millisecond, and not exact for a float: a millisecond early costs nothing.
            time_ms = max(0, int(value.timestamp() * 1000) - 1)
            self.time_ms = time_ms if self.time_ms is None else max(self.time_ms, time_ms)
