"""Idempotent producers over a bad network: whatever is lost, repeated or reordered, each batch is there once, in order.

A producer has at most five batches from the first unacknowledged one on in flight, and its first batch alone, since a
partition without its state takes any sequence for the first one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.records.batch import RecordBatch, add_to_sequence
from moldau.storage.producer_entry import BATCHES_RETAINED
from moldau.storage.producer_state import ProducerState
from tests.unit.storage.producer_batches import Partition, records_batch

SEQUENCE_MAX = (1 << 31) - 1
EXPECTED_REFUSALS = {ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.INVALID_PRODUCER_EPOCH}


@dataclass
class SentBatch:
    epoch: int
    base_sequence: int
    count: int
    offset: int | None = None  # as acknowledged


@dataclass
class Sender:
    producer_id: int
    epoch: int
    next_sequence: int
    sent: list[SentBatch] = field(default_factory=list)

    @property
    def first_unacknowledged(self) -> int:
        return next((index for index, batch in enumerate(self.sent) if batch.offset is None), len(self.sent))

    def send(self, count: int) -> None:
        alone = not any(batch.epoch == self.epoch and batch.offset is not None for batch in self.sent)
        in_flight_max = 1 if alone else BATCHES_RETAINED
        if len(self.sent) - self.first_unacknowledged < in_flight_max:
            self.sent.append(SentBatch(self.epoch, self.next_sequence, count))
            self.next_sequence = add_to_sequence(self.next_sequence, count)

    def raise_epoch(self) -> None:
        if self.first_unacknowledged == len(self.sent):
            self.epoch += 1
            self.next_sequence = 0


class Exchange:
    """Senders, one partition, and the network between them, which the test commands."""

    def __init__(self, senders: list[Sender]) -> None:
        self.senders = senders
        self.partition = Partition()

    def deliver(self, sender: Sender, index: int, answer_arrives: bool) -> None:
        sent = sender.sent[index]
        batch = records_batch(sender.producer_id, sent.epoch, sent.base_sequence, sent.count)
        try:
            duplicate = self.partition.append(batch).duplicate
        except ApiError as error:
            if error.code not in EXPECTED_REFUSALS:
                raise
            return
        offset = batch.base_offset if duplicate is None else duplicate.base_offset
        assert sent.offset in (None, offset), "a repetition is answered as the original was"
        if answer_arrives:
            sent.offset = offset

    def restart(self) -> None:
        """The partition forgets its state and derives it from the log."""
        self.partition.state = ProducerState("t-0")
        for batch in self.partition.written:
            self.partition.state.replay(batch)

    def finish(self) -> None:
        """The network recovers: everything unacknowledged is sent again, in order."""
        for sender in self.senders:
            for index in range(sender.first_unacknowledged, len(sender.sent)):
                self.deliver(sender, index, answer_arrives=True)

    def check(self) -> None:
        for sender in self.senders:
            written = [batch for batch in self.partition.written if batch.producer_id == sender.producer_id]
            assert [(batch.producer_epoch, batch.base_sequence, batch.count) for batch in written] == [
                (sent.epoch, sent.base_sequence, sent.count) for sent in sender.sent
            ]
            assert [batch.base_offset for batch in written] == [sent.offset for sent in sender.sent]
        assert_contiguous(self.partition.written)


def assert_contiguous(batches: list[RecordBatch]) -> None:
    end_offset = 0
    for batch in batches:
        assert batch.base_offset == end_offset
        end_offset = batch.next_offset


SENDER = st.integers(0, 2)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), SENDER, st.integers(1, 5), st.booleans()),
        st.tuples(st.just("deliver"), SENDER, st.integers(0, 4), st.booleans()),
        st.tuples(st.just("deliver"), SENDER, st.integers(0, 4), st.booleans()),
        st.tuples(st.just("repeat"), SENDER, st.integers(0, 100), st.booleans()),
        st.tuples(st.just("raise epoch"), SENDER, st.just(0), st.booleans()),
        st.tuples(st.just("restart"), SENDER, st.just(0), st.booleans()),
    ),
    max_size=80,
)


@settings(max_examples=150, deadline=None)
@given(STEPS, st.sampled_from([0, 1000, SEQUENCE_MAX - 6]))
def test_every_batch_is_written_once_and_in_order(steps: list[tuple[str, int, int, bool]], sequence: int) -> None:
    exchange = Exchange([Sender(producer_id, epoch, sequence) for producer_id, epoch in ((7, 0), (8, 3), (9, 0))])
    for action, sender_index, number, answer_arrives in steps:
        sender = exchange.senders[sender_index]
        in_flight = sender.first_unacknowledged + number
        if action == "send":
            sender.send(count=number)
        elif action == "deliver" and in_flight < len(sender.sent):
            exchange.deliver(sender, in_flight, answer_arrives)
        elif action == "repeat" and sender.first_unacknowledged:  # a copy that was under way for long
            exchange.deliver(sender, number % sender.first_unacknowledged, answer_arrives=False)
        elif action == "raise epoch":
            sender.raise_epoch()
        elif action == "restart":
            exchange.restart()
    exchange.finish()
    exchange.check()
