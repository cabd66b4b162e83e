"""What becomes of a batch, without any network: retries in order, sequences, splits, expiry."""

from __future__ import annotations

import random
import threading

import pytest

from moldau.base.clock import VirtualClock
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.clients.errors import RecordTooLarge, TimedOut
from moldau.clients.network.metadata import PartitionMetadata, Topic
from moldau.clients.producer.accumulator import AccumulatorLimits, PartitionQueue, RecordAccumulator
from moldau.clients.producer.batch import ProducerBatch
from moldau.clients.producer.delivery import Deliveries
from moldau.clients.producer.futures import RecordFuture
from moldau.clients.producer.sequences import EPOCH_MAX, Sequences
from moldau.clients.records import RecordMetadata
from moldau.net.backoff import Backoff
from moldau.records.batch import RecordBatch
from moldau.records.reader import read_batch

TIMEOUT_MS = 120_000


class Bench:
    """One partition, batches of one record each unless told otherwise."""

    def __init__(self, *, idempotent: bool = True, transactional: bool = False, retries: int = 2**31 - 1) -> None:
        self.clock = VirtualClock()
        self.idempotent = idempotent
        self.lost: list[Exception] = []
        self.sequences = Sequences(transactional=transactional)
        self.sequences.begin(7, 0)
        self.accumulator = RecordAccumulator(
            AccumulatorLimits(batch_bytes=0), self.clock, lambda: None, random.Random(1)
        )
        self.topic = self.accumulator.topic(Topic("t", partitions=(PartitionMetadata("t", 0, 0, 0),)))
        self.queue: PartitionQueue = self.topic.queues[0]
        self.deliveries = Deliveries(
            self.accumulator,
            self.clock,
            Backoff(100, 1000),
            retries=retries,
            timeout_ms=TIMEOUT_MS,
            sequences=self.sequences if idempotent else None,
            on_lost=self.lost.append if transactional else None,
        )

    def append(self, value: bytes = b"value") -> RecordFuture:
        future = self.accumulator.append(self.topic, 0, self.clock.now_ms(), None, value, (), None)
        assert future is not None
        return future

    def send(self) -> ProducerBatch:
        """Send the oldest batch, as the sender does."""
        assert not self.idempotent or self.sequences.may_send(self.queue.batches[0])
        batch = self.accumulator.take(self.queue)
        batch.build(self.sequences.assign(batch))
        batch.sent = True
        return batch

    def write_first(self) -> None:
        """Have a record acknowledged: from then on several batches may be in flight."""
        self.append()
        self.deliveries.written(self.send(), 0)

    def refuse(self, batch: ProducerBatch, code: ErrorCode) -> None:
        self.deliveries.refused(self.queue, batch, code, "as told")


def test_an_acknowledged_batch_tells_each_record_its_offset_in_order() -> None:
    bench = Bench()
    told: list[tuple[RecordMetadata | None, Exception | None]] = []
    bench.accumulator.limits = AccumulatorLimits(batch_bytes=1000)
    futures = []
    for value in (b"a", b"bc"):
        future = bench.accumulator.append(bench.topic, 0, 5, b"k", value, (), lambda *fate: told.append(fate))
        assert future is not None
        futures.append(future)
    bench.deliveries.written(bench.send(), 40)
    assert [future.result(0).offset for future in futures] == [40, 41]
    assert told == [(RecordMetadata("t", 0, 40, 5, 1, 1), None), (RecordMetadata("t", 0, 41, 5, 1, 2), None)]


def test_a_callback_that_raises_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    told: list[int] = []

    def raises(_metadata: object, _error: object) -> None:
        raise ValueError("of the user's")

    future = bench.accumulator.append(bench.topic, 0, 5, None, b"v", (), raises)
    assert future is not None
    future.add_done_callback(lambda done: told.append(done.result(0).offset))
    bench.deliveries.written(bench.send(), 3)
    assert told == [3]
    assert "of the user's" in caplog.text


def test_batches_that_failed_together_are_sent_again_in_their_order() -> None:
    for idempotent in (True, False):
        bench = Bench(idempotent=idempotent)
        bench.write_first()
        futures = [bench.append(value) for value in (b"1", b"2", b"3", b"4")]
        sent = [bench.send() for _ in range(3)]
        for batch in sent:
            bench.refuse(batch, ErrorCode.NETWORK_EXCEPTION)
        assert list(bench.queue.batches) == [future.batch for future in futures]


def test_the_first_batch_flies_alone_since_a_broker_takes_any_number_of_an_unknown_producer() -> None:
    bench = Bench()
    bench.append()
    bench.append()
    first = bench.send()
    assert not bench.sequences.may_send(bench.queue.batches[0])
    bench.refuse(first, ErrorCode.NOT_ENOUGH_REPLICAS)
    assert bench.send() is first
    bench.deliveries.written(first, 0)
    assert bench.send().base_sequence == 1


def test_after_a_failure_only_the_oldest_batch_may_go_first() -> None:
    bench = Bench()
    bench.write_first()
    for _ in range(3):
        bench.append()
    first, second = bench.send(), bench.send()
    bench.refuse(first, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    bench.refuse(second, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert bench.send() is first
    assert (first.base_sequence, second.base_sequence) == (1, 2)
    assert not bench.sequences.may_send(second)
    bench.deliveries.written(first, 1)
    assert bench.send() is second
    assert not bench.sequences.may_send(bench.queue.batches[0])
    bench.deliveries.written(second, 2)
    assert bench.send().base_sequence == 3


def test_a_broker_that_forgot_the_producer_gets_a_new_epoch_from_zero() -> None:
    bench = Bench()
    bench.write_first()
    bench.append()
    bench.append()
    second, third = bench.send(), bench.send()
    bench.refuse(second, ErrorCode.UNKNOWN_PRODUCER_ID)
    bench.refuse(third, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert bench.sequences.epoch == 1
    assert bench.sequences.assign(bench.send()) == (7, 1, 0)
    bench.deliveries.written(second, 1)
    assert bench.sequences.assign(bench.send()) == (7, 1, 1)


def test_a_refused_batch_does_not_leave_a_gap() -> None:
    bench = Bench()
    bench.write_first()
    future = bench.append()
    bench.append()
    first, second = bench.send(), bench.send()
    bench.refuse(first, ErrorCode.INVALID_RECORD)
    assert isinstance(future.exception(0), ApiError)
    bench.refuse(second, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert bench.sequences.assign(bench.send()) == (7, 1, 0)


def test_another_partition_keeps_its_epoch_until_nothing_of_it_is_in_flight() -> None:
    sequences = Sequences()
    sequences.begin(7, 0)
    accumulator = RecordAccumulator(AccumulatorLimits(batch_bytes=0), VirtualClock(), lambda: None)
    known = tuple(PartitionMetadata("t", number, 0, 0) for number in range(2))
    topic = accumulator.topic(Topic("t", partitions=known))
    futures = [accumulator.append(topic, number, 0, None, b"v", (), None) for number in (0, 1, 1, 1)]
    batches = [future.batch for future in futures if future is not None]
    assert [sequences.assign(batch) for batch in batches[:2]] == [(7, 0, 0), (7, 0, 0)]
    sequences.given_up(batches[0], known=True)
    assert sequences.assign(batches[2]) == (7, 0, 1)
    sequences.acknowledged(batches[1])
    sequences.acknowledged(batches[2])
    assert sequences.assign(batches[3]) == (7, 1, 0)


def test_when_no_epoch_is_left_a_new_id_is_needed() -> None:
    bench = Bench()
    bench.sequences.begin(7, EPOCH_MAX)
    bench.append()
    bench.append()
    bench.refuse(bench.send(), ErrorCode.INVALID_RECORD)
    assert not bench.sequences.has_id
    bench.sequences.begin(8, 0)
    assert bench.sequences.assign(bench.send()) == (8, 0, 0)


def test_in_a_transaction_a_lost_record_fails_the_transaction_and_not_the_epoch() -> None:
    bench = Bench(transactional=True)
    bench.append()
    bench.refuse(bench.send(), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert [type(error) for error in bench.lost] == [ApiError]
    assert bench.sequences.epoch == 0
    assert bench.sequences.needs_new_epoch


def test_nothing_is_sent_again_for_a_transaction_that_is_being_aborted() -> None:
    bench = Bench(transactional=True)
    future = bench.append()
    sent = bench.send()
    bench.deliveries._may_send = lambda: False
    bench.refuse(sent, ErrorCode.NETWORK_EXCEPTION)
    assert future.done()
    assert not bench.queue.batches


def test_a_batch_that_is_too_large_is_split_and_every_record_finds_its_place() -> None:
    bench = Bench()
    bench.accumulator.limits = AccumulatorLimits(batch_bytes=1000)
    futures = [bench.append(bytes([number]) * 80) for number in range(10)]
    told: list[int] = []
    futures[9].add_done_callback(lambda future: told.append(future.result(0).offset))
    whole = bench.send()
    bench.refuse(whole, ErrorCode.MESSAGE_TOO_LARGE)
    assert [batch.base_sequence for batch in bench.queue.batches] == [0, 5]
    values, offset = [], 100
    while bench.queue.batches:
        piece = bench.send()
        values += [record.value for record in read_batch(RecordBatch(piece.build(), 0))]
        bench.deliveries.written(piece, offset)
        offset += piece.count
    assert values == [bytes([number]) * 80 for number in range(10)]
    assert [future.result(0).offset for future in futures] == list(range(100, 110))
    assert told == [109]
    assert bench.accumulator.used_bytes == 0
    assert not bench.accumulator.incomplete


def test_a_single_record_that_is_too_large_fails() -> None:
    bench = Bench()
    future = bench.append()
    bench.refuse(bench.send(), ErrorCode.MESSAGE_TOO_LARGE)
    assert isinstance(future.exception(0), RecordTooLarge)


def test_retries_have_a_limit() -> None:
    bench = Bench(retries=2, idempotent=False)
    future = bench.append()
    for _ in range(3):
        bench.refuse(bench.send(), ErrorCode.NOT_LEADER_OR_FOLLOWER)
    failure = future.exception(0)
    assert isinstance(failure, ApiError)
    assert failure.code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_retry_waits_for_its_backoff() -> None:
    bench = Bench()
    bench.append()
    bench.refuse(bench.send(), ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert not bench.accumulator.is_ready(bench.queue, bench.clock.monotonic_ms())
    bench.clock.advance(120)
    assert bench.accumulator.is_ready(bench.queue, bench.clock.monotonic_ms())


def test_what_waits_or_flies_too_long_is_given_up() -> None:
    bench = Bench()
    futures = [bench.append(), bench.append()]
    flying = bench.send()
    bench.clock.advance(TIMEOUT_MS - 1)
    young = bench.append()
    bench.clock.advance(1)
    bench.deliveries.expire(bench.clock.monotonic_ms())
    assert all(isinstance(future.exception(0), TimedOut) for future in futures)
    assert not young.done()
    bench.deliveries.written(flying, 5)  # too late: it has its fate
    assert isinstance(futures[0].exception(0), TimedOut)


def test_threads_that_wait_for_one_record_all_hear_of_it() -> None:
    bench = Bench()
    future = bench.append()
    heard: list[int] = []
    threads = [threading.Thread(target=lambda: heard.append(future.result(10).offset)) for _ in range(8)]
    for thread in threads:
        thread.start()
    bench.deliveries.written(bench.send(), 6)
    for thread in threads:
        thread.join(10)
    assert heard == [6] * 8


def test_who_waits_too_long_is_told_that_the_record_is_still_on_its_way() -> None:
    with pytest.raises(TimedOut, match="still on its way"):
        Bench().append().result(0.01)
