"""When batches begin, are full, are ready, and what they cost in memory."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.base.clock import VirtualClock
from moldau.base.hashing import key_partition
from moldau.clients.network.metadata import PartitionMetadata, Topic
from moldau.clients.producer.accumulator import AccumulatorLimits, RecordAccumulator, TopicQueues
from moldau.clients.producer.futures import RecordFuture
from moldau.clients.producer.partitioners import StickyPartition, partition_of_key
from moldau.clients.producer.plain_append import plain_append
from moldau.records.batch import RecordBatch
from moldau.records.compression import CompressionType
from moldau.records.reader import read_batch


class Bench:
    """An accumulator on a clock that stands still, with one topic."""

    def __init__(self, partitions: int = 1, leaderless: tuple[int, ...] = (), **limits: int | CompressionType) -> None:
        self.clock = VirtualClock()
        self.woken = 0
        wanted = AccumulatorLimits(**limits)  # type: ignore[arg-type]
        self.accumulator = RecordAccumulator(wanted, self.clock, self.wake, random.Random(1))
        known = tuple(
            PartitionMetadata("t", number, -1 if number in leaderless else 0, 0) for number in range(partitions)
        )
        self.topic: TopicQueues = self.accumulator.topic(Topic("t", partitions=known))

    def wake(self) -> None:
        self.woken += 1

    def append(
        self, value: bytes = b"value", key: bytes | None = None, partition: int | None = None
    ) -> RecordFuture | None:
        return self.accumulator.append(self.topic, partition, self.clock.now_ms(), key, value, (), None)

    def ready(self) -> list[int]:
        queues = self.accumulator.queues_waiting()
        now_ms = self.clock.monotonic_ms()
        return [each.topic_partition.partition for each in queues if self.accumulator.is_ready(each, now_ms)]


def test_records_of_12_bytes_fill_a_batch_of_16384_with_819_to_16377() -> None:
    bench = Bench(linger_ms=1000)
    quick = plain_append(bench.accumulator, bench.topic, bench.clock)
    for _ in range(820):
        if quick(b"hello world ") is None:
            bench.append(b"hello world ")
    full, begun = bench.topic.queues[0].batches
    assert (full.count, len(full.build())) == (819, 16377)
    assert begun.count == 1


def test_a_batch_waits_for_linger_unless_it_is_full() -> None:
    bench = Bench(linger_ms=10, batch_bytes=200)
    bench.append(b"x" * 50)
    assert bench.ready() == []
    bench.clock.advance(9)
    assert bench.ready() == []
    bench.clock.advance(1)
    assert bench.ready() == [0]
    bench.accumulator.take(bench.topic.queues[0])
    bench.append(b"x" * 100)
    assert bench.ready() == []
    bench.append(b"x" * 100)
    assert bench.ready() == [0]


def test_without_linger_a_record_is_ready_at_once() -> None:
    bench = Bench()
    bench.append()
    assert bench.ready() == [0]


def test_flushing_and_want_of_memory_make_everything_ready() -> None:
    bench = Bench(linger_ms=10)
    bench.append()
    for name in ("flushing", "waiting_for_memory"):
        setattr(bench.accumulator, name, 1)
        assert bench.ready() == [0]
        setattr(bench.accumulator, name, 0)
    assert bench.ready() == []


def test_a_record_larger_than_a_batch_has_one_of_its_own() -> None:
    bench = Bench(batch_bytes=100)
    assert bench.append(b"x" * 500) is not None
    assert bench.append(b"y") is not None
    assert [batch.count for batch in bench.topic.queues[0].batches] == [1, 1]


def test_there_is_no_memory_for_a_batch_too_many_until_one_is_done() -> None:
    bench = Bench(batch_bytes=1000, memory_bytes=2500)
    assert bench.append(partition=0, value=b"x" * 900) is not None
    assert bench.append(partition=0, value=b"x" * 900) is not None
    assert bench.append(partition=0, value=b"x" * 900) is None
    batch = bench.accumulator.take(bench.topic.queues[0])
    bench.accumulator.done(batch)
    assert bench.append(partition=0, value=b"x" * 900) is not None


def test_a_closed_batch_keeps_only_the_memory_it_needs() -> None:
    bench = Bench(batch_bytes=1000)
    bench.append(b"x" * 10)
    assert bench.accumulator.used_bytes == 1000
    batch = bench.accumulator.take(bench.topic.queues[0])
    assert bench.accumulator.used_bytes == batch.size_bytes < 100
    bench.accumulator.done(batch)
    assert bench.accumulator.used_bytes == 0


def test_the_sender_is_woken_once_for_what_it_would_sleep_through() -> None:
    bench = Bench(linger_ms=10, partitions=2)
    bench.accumulator.sleeps_until_ms = 5.0
    bench.append(partition=0)
    assert bench.woken == 0  # it looks before the batch is ready
    bench.accumulator.sleeps_until_ms = 100.0
    bench.append(partition=1)
    bench.append(partition=1)
    assert bench.woken == 1


def test_records_without_key_stick_to_a_partition_until_a_batch_is_full() -> None:
    bench = Bench(partitions=4, batch_bytes=1000, linger_ms=1000)
    places = []
    for _ in range(40):
        future = bench.append(b"x" * 90)
        assert future is not None
        places.append(future.batch.topic_partition.partition)
    runs = [place for index, place in enumerate(places) if index == 0 or places[index - 1] != place]
    assert len(runs) <= 5
    assert max(Counter(places).values()) < 40


def test_a_partition_without_leader_gets_no_records_without_key() -> None:
    bench = Bench(partitions=3, leaderless=(1,), batch_bytes=0)
    chosen = set()
    for _ in range(60):
        future = bench.append()
        assert future is not None
        chosen.add(future.batch.topic_partition.partition)
    assert chosen - {bench.topic.queues[0].topic_partition.partition} <= {2, 1}
    assert {0, 2} <= chosen


def test_partitions_with_longer_queues_are_drawn_less() -> None:
    sticky = StickyPartition(random.Random(7))
    drawn = Counter(sticky.draw([(0, 0), (1, 9)], 1) for _ in range(2000))
    assert drawn[0] > 8 * drawn[1] > 0


@given(st.binary(max_size=40), st.integers(1, 100))
def test_a_key_goes_where_the_java_client_puts_it(key: bytes, partitions: int) -> None:
    assert partition_of_key(key, partitions) == key_partition(key, partitions)


@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.LZ4])
@settings(max_examples=40, deadline=None)
@given(
    values=st.lists(st.tuples(st.binary(max_size=90), st.booleans(), st.integers(0, 100)), min_size=1, max_size=90),
    wide=st.integers(8100, 8200),
)
def test_both_ways_of_appending_write_the_same_records(
    codec: CompressionType, values: list[tuple[bytes, bool, int]], wide: int
) -> None:
    bench = Bench(linger_ms=1000, batch_bytes=100_000, compression_type=codec)
    quick = plain_append(bench.accumulator, bench.topic, bench.clock)
    expected = []
    for value, is_quick, pause_ms in [*values, (b"w" * wide, True, 0)]:
        bench.clock.advance(pause_ms)
        expected.append((bench.clock.now_ms(), value))
        if not is_quick or quick(value) is None:
            assert bench.append(value) is not None
    batch = bench.accumulator.take(bench.topic.queues[0])
    built = RecordBatch(batch.build(), 0)
    built.check()
    assert [(record.timestamp, record.value) for record in read_batch(built)] == expected
    assert built.max_timestamp == max(timestamp for timestamp, _ in expected)


def test_the_short_way_keeps_its_own_time_beside_records_of_other_times() -> None:
    bench = Bench(linger_ms=1000, batch_bytes=100_000)
    quick = plain_append(bench.accumulator, bench.topic, bench.clock)
    now_ms = bench.clock.now_ms()
    bench.append(b"first")
    future = bench.accumulator.append(bench.topic, None, now_ms + 5_000, None, b"later", (), None)
    assert future is not None
    bench.clock.advance(3)
    taken = quick(b"quick")
    assert taken is not None
    assert (taken.timestamp, taken.key_size, taken.value_size) == (now_ms + 3, -1, 5)
    built = RecordBatch(bench.accumulator.take(bench.topic.queues[0]).build(), 0)
    assert [record.timestamp - now_ms for record in read_batch(built)] == [0, 5_000, 3]
    assert built.max_timestamp == now_ms + 5_000


def test_a_batch_that_begins_in_the_future_is_not_for_the_short_way() -> None:
    bench = Bench(linger_ms=1000, batch_bytes=100_000)
    quick = plain_append(bench.accumulator, bench.topic, bench.clock)
    bench.accumulator.append(bench.topic, None, bench.clock.now_ms() + 1, None, b"later", (), None)
    assert quick(b"quick") is None
    assert bench.topic.sticky_batch.count == 1
