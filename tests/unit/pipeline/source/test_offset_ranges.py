"""How offsets are shared out: among tasks, and among batches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.clients.records import TopicPartition
from moldau.pipeline.options import OptionError
from moldau.pipeline.source.admission import Delay, limited, new_offsets
from moldau.pipeline.source.offsets import from_json, to_json
from moldau.pipeline.source.ranges import OffsetRange, split

RANGES = st.lists(st.tuples(st.integers(0, 1 << 40), st.integers(0, 100_000)), max_size=8).map(
    lambda pairs: [OffsetRange("t", number, start, start + size) for number, (start, size) in enumerate(pairs)]
)


@given(RANGES, st.none() | st.integers(1, 60), st.none() | st.integers(1_000, 10**9))
def test_tasks_have_every_offset_once(ranges: list[OffsetRange], least: int | None, records_max: int | None) -> None:
    tasks = split(ranges, least, records_max)
    assert all(task.size > 0 for task in tasks)
    assert records_max is None or all(task.size <= records_max for task in tasks)
    for whole in ranges:
        pieces = [task for task in tasks if task.of == whole.of]
        assert sum(piece.size for piece in pieces) == max(0, whole.size)
        position = whole.start
        for piece in pieces:
            assert piece.start == position
            position = piece.end


def test_without_options_a_partition_is_a_task() -> None:
    ranges = [OffsetRange("t", 0, 0, 10), OffsetRange("t", 1, 5, 5), OffsetRange("t", 2, 7, 6)]
    assert split(ranges) == ranges[:1]


def test_large_ones_are_cut_and_small_ones_are_not() -> None:
    ranges = [OffsetRange("t", 0, 0, 1000), OffsetRange("t", 1, 0, 10)]
    tasks = split(ranges, min_partitions=5)
    assert [task for task in tasks if task.partition == 1] == ranges[1:]
    assert [task.size for task in tasks if task.partition == 0] == [250] * 4


@pytest.mark.parametrize(
    ("least", "records_max", "name"), [(10**6, None, "minPartitions"), (None, 1, "maxRecordsPerPartition")]
)
def test_a_slip_of_the_pen_does_not_make_a_million_tasks(least: int | None, records_max: int | None, name: str) -> None:
    with pytest.raises(OptionError, match=f"{name}.*1000000 tasks"):
        split([OffsetRange("t", 0, 0, 10**6)], least, records_max)


def test_a_batch_takes_its_share_of_each_partition() -> None:
    start = {TopicPartition("t", number): 0 for number in range(3)}
    end = {TopicPartition("t", 0): 900, TopicPartition("t", 1): 100, TopicPartition("t", 2): 0}
    assert limited(start, end, 100) == {
        TopicPartition("t", 0): 90,
        TopicPartition("t", 1): 10,
        TopicPartition("t", 2): 0,
    }
    assert limited(start, end, 1000) == end


def test_nobody_starves() -> None:
    start = {TopicPartition("t", 0): 0, TopicPartition("t", 1): 0}
    end = {TopicPartition("t", 0): 1_000_000, TopicPartition("t", 1): 1}
    assert limited(start, end, 10)[TopicPartition("t", 1)] == 1


def test_what_shrank_is_not_limited() -> None:
    partition = TopicPartition("t", 0)
    assert limited({partition: 10}, {partition: 4}, 1) == {partition: 4}


@pytest.mark.parametrize(
    ("count", "now_ms", "waits"),
    [(5, 0, True), (10, 0, False), (5, 999, True), (5, 1000, False)],
)
def test_a_batch_waits_for_enough_or_long_enough(count: int, now_ms: float, waits: bool) -> None:
    delay = Delay(10, 1000)
    assert not delay.waits(1, 0)  # the first comes at once
    assert delay.waits(count, now_ms) is waits


def test_new_partitions_count_from_zero() -> None:
    assert new_offsets({TopicPartition("t", 0): 3}, {TopicPartition("t", 0): 5, TopicPartition("t", 1): 4}) == 6


def test_offsets_have_one_text() -> None:
    offsets = {TopicPartition("b", 10): 1, TopicPartition("b", 9): 2, TopicPartition("a", 0): 3}
    assert list(to_json(offsets).items()) == [("a", {"0": 3}), ("b", {"9": 2, "10": 1})]
    assert list(to_json(offsets)["b"]) == ["9", "10"]
    assert from_json(to_json(offsets)) == offsets
