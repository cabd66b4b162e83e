"""Which filters a batch read takes from Spark, and what they leave to be read."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
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
from moldau.pipeline.source.filters import Narrowing
from moldau.pipeline.source.ranges import OffsetRange

WHOLE = OffsetRange("t", 0, 10, 100)


@pytest.mark.parametrize(
    ("pushed", "kept"),
    [
        (EqualTo(("partition",), 1), [1]),
        (In(("partition",), (0, 2)), [0, 2]),
        (Not(EqualTo(("partition",), 1)), [0, 2]),
        (Not(In(("partition",), (0, 1))), [2]),
        (GreaterThan(("partition",), 0), [1, 2]),
        (LessThanOrEqual(("partition",), 1), [0, 1]),
    ],
)
def test_partitions(pushed: Filter, kept: list[int]) -> None:
    narrowing = Narrowing()
    assert narrowing.take(pushed)
    assert [number for number in range(3) if narrowing.keeps(TopicPartition("t", number))] == kept


@pytest.mark.parametrize(
    ("pushed", "start", "end"),
    [
        (EqualTo(("offset",), 50), 50, 51),
        (GreaterThan(("offset",), 50), 51, 100),
        (GreaterThanOrEqual(("offset",), 50), 50, 100),
        (LessThan(("offset",), 50), 10, 50),
        (LessThanOrEqual(("offset",), 50), 10, 51),
        (LessThan(("offset",), 5), 10, 10),
    ],
)
def test_offsets(pushed: Filter, start: int, end: int) -> None:
    narrowing = Narrowing()
    assert narrowing.take(pushed)
    assert narrowing.narrow(WHOLE) == WHOLE._replace(start=start, end=end)


def test_topics() -> None:
    narrowing = Narrowing()
    assert narrowing.take(StringStartsWith(("topic",), "t"))
    assert narrowing.take(Not(EqualTo(("topic",), "t2")))
    assert [narrowing.keeps(TopicPartition(name, 0)) for name in ("t1", "t2", "u")] == [True, False, False]


def test_a_time_narrows_and_is_left_to_spark_as_well() -> None:
    narrowing = Narrowing()
    assert not narrowing.take(GreaterThanOrEqual(("timestamp",), datetime(2024, 1, 1, tzinfo=UTC)))
    assert narrowing.time_ms == 1_704_067_200_000 - 1
    assert not narrowing.take(LessThan(("timestamp",), datetime(2025, 1, 1, tzinfo=UTC)))
    assert narrowing.time_ms == 1_704_067_200_000 - 1
    assert narrowing.narrow(WHOLE) == WHOLE


def test_never_null_is_not_checked_again() -> None:
    narrowing = Narrowing()
    assert narrowing.take(IsNotNull(("offset",)))
    assert not narrowing.take(IsNotNull(("key",)))
    assert not narrowing.take(Not(IsNotNull(("offset",))))


@pytest.mark.parametrize(
    "pushed",
    [
        EqualTo(("key",), b"k"),
        In(("offset",), (1, 2)),
        Not(EqualTo(("offset",), 1)),
        In(("partition",), (0, None)),
        EqualTo(("headers", "key"), "x"),
        EqualTo(("partition",), None),
    ],
)
def test_the_rest_is_left_to_spark(pushed: Filter) -> None:
    narrowing = Narrowing()
    assert not narrowing.take(pushed)
    assert narrowing.keeps(TopicPartition("t", 0))
    assert narrowing.narrow(WHOLE) == WHOLE
