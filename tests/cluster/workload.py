"""Clients that work while a cluster is being broken, and write down what they did and saw.

Each runs in a thread of its own until it is told to stop, and never gives up before: a producer that may not go on is
replaced by a new one, a transaction that must be aborted is aborted, and what nobody can know is written down as such.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from itertools import count
from random import Random

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tests.cluster.history import FINAL_READER, Commit, History, Outcome, Poll, Record, Send

PRODUCER = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 5,
    "delivery.timeout.ms": 120_000,
    "request.timeout.ms": 10_000,
    "socket.timeout.ms": 10_000,
    "retry.backoff.ms": 50,
    "reconnect.backoff.max.ms": 500,
}
TRANSACTION_TIMEOUT_MS = 60_000
END_S_MAX = 180.0
"""A client that has not come to its end by then is stuck, which is a finding of its own."""


class Client(ABC):
    def __init__(self, name: str, servers: str, topic: str, partitions: int, history: History, seed: int) -> None:
        self.name = name
        self.topic = topic
        self.partitions = partitions
        self.history = history
        self.servers = servers
        self.random = Random(f"{name} {seed}")
        self.stopping = threading.Event()
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.stopping.set()

    def join(self) -> None:
        self._thread.join(END_S_MAX)
        assert not self._thread.is_alive(), f"{self.name} has not ended in {END_S_MAX} s"
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            self.work()
        except BaseException as error:
            self.failure = error

    @abstractmethod
    def work(self) -> None: ...


class PlainProducer(Client):
    """Idempotent; `rate` records a second, to a random partition each. What is fatal to it ends the run."""

    rate = 200

    def work(self) -> None:
        producer = Producer({**PRODUCER, "bootstrap.servers": self.servers, "client.id": self.name})
        for number in count():
            if self.stopping.is_set():
                break
            record, partition = Record(self.name, number), self.random.randrange(self.partitions)
            try:
                producer.produce(
                    self.topic, record.encode(), partition=partition, on_delivery=partial(self._sent, record, partition)
                )
            except BufferError:
                producer.poll(0.1)
            producer.poll(0)
            time.sleep(1 / self.rate)
        left = producer.flush(END_S_MAX)
        assert not left, f"{self.name}: {left} records have no outcome"

    def _sent(self, record: Record, partition: int, error: KafkaError | None, message: Message) -> None:
        offset = message.offset() if error is None else None
        outcome = Outcome.UNKNOWN if error is not None else Outcome.ACKED
        self.history.sends.append(Send(record, partition, outcome, offset))


class TransactionalProducer(Client):
    """Transactions of a few records over the partitions; every fourth is aborted on purpose."""

    def work(self) -> None:
        producer = self._new()
        number = 0
        for transaction in count():
            if self.stopping.is_set():
                break
            key, size = (self.name, transaction), self.random.randint(1, 8)
            self.history.transactions[key] = Outcome.UNKNOWN
            try:
                producer.begin_transaction()
                for _ in range(size):
                    self._send(producer, Record(self.name, number), transaction)
                    number += 1
                if self.random.random() < 0.25:
                    self._abort(producer)
                    self.history.transactions[key] = Outcome.FAILED
                else:
                    self.history.transactions[key] = self._commit(producer)
            except KafkaException:
                # Whether it was committed is not known; the next producer finds it ended, one way or the other.
                number += size
                producer = self._new()
            time.sleep(self.random.random() * 0.1)

    def _new(self) -> Producer:
        settings = {
            **PRODUCER,
            "bootstrap.servers": self.servers,
            "client.id": self.name,
            "transactional.id": self.name,
            "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
            "delivery.timeout.ms": TRANSACTION_TIMEOUT_MS,
        }
        ends_at = time.monotonic() + END_S_MAX
        while True:
            producer = Producer(settings)
            try:
                producer.init_transactions(30)
            except KafkaException:
                if time.monotonic() > ends_at:
                    raise
            else:
                return producer

    def _send(self, producer: Producer, record: Record, transaction: int) -> None:
        partition = self.random.randrange(self.partitions)

        def sent(error: KafkaError | None, message: Message) -> None:
            offset = message.offset() if error is None else None
            outcome = Outcome.UNKNOWN if error is not None else Outcome.ACKED
            self.history.sends.append(Send(record, partition, outcome, offset, transaction))

        producer.produce(self.topic, record.encode(), partition=partition, on_delivery=sent)
        producer.poll(0)

    def _commit(self, producer: Producer) -> Outcome:
        while True:
            try:
                producer.commit_transaction(30)
            except KafkaException as error:
                code = error.args[0]
                if code.txn_requires_abort():
                    self._abort(producer)
                    return Outcome.FAILED
                if not code.retriable():
                    raise
            else:
                return Outcome.ACKED

    def _abort(self, producer: Producer) -> None:
        while True:
            try:
                producer.abort_transaction(30)
            except KafkaException as error:
                if not error.args[0].retriable():
                    raise
            else:
                return


class GroupMember(Client):
    """Reads committed records and commits what it has got, by hand."""

    group = "readers"

    def work(self) -> None:
        self._runs: dict[int, int] = {}
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "client.id": self.name,
                "group.id": self.group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "session.timeout.ms": 10_000,
                "heartbeat.interval.ms": 1_000,
                "fetch.wait.max.ms": 100,
                "reconnect.backoff.max.ms": 500,
                "partition.assignment.strategy": "range",
            }
        )
        consumer.subscribe([self.topic], on_assign=self._assigned)
        done: dict[int, int] = {}
        committed_at = time.monotonic()
        while not self.stopping.is_set():
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                poll = self._take(message)
                done[poll.partition] = poll.offset + 1
            if time.monotonic() - committed_at > 0.5 and done:
                self._commit(consumer, done)
                committed_at = time.monotonic()
        consumer.close()

    def _assigned(self, _consumer: Consumer, partitions: Sequence[TopicPartition]) -> None:
        for partition in partitions:
            self._runs[partition.partition] = self._runs.get(partition.partition, 0) + 1

    def _take(self, message: Message) -> Poll:
        partition, offset, value = message.partition(), message.offset(), message.value()
        assert partition is not None
        assert offset is not None
        assert value is not None
        poll = Poll(self.name, self._runs[partition], partition, offset, Record.decode(value))
        self.history.polls.append(poll)
        return poll

    def _commit(self, consumer: Consumer, done: dict[int, int]) -> None:
        offsets = [TopicPartition(self.topic, partition, offset) for partition, offset in done.items()]
        try:
            consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException:  # another generation, or no coordinator just now: what counts is committed next time
            pass
        else:
            self.history.commits += [Commit(self.name, each.partition, each.offset) for each in offsets]
        done.clear()


def read_everything(servers: str, topic: str, partitions: int, history: History, timeout_s: float) -> None:
    """Fill in what the log has, as readers of committed records see it."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": FINAL_READER,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
    ended: set[int] = set()
    ends_at = time.monotonic() + timeout_s
    while len(ended) < partitions:
        assert time.monotonic() < ends_at, f"partitions {set(range(partitions)) - ended} cannot be read to their ends"
        message = consumer.poll(0.5)
        if message is None:
            continue
        error = message.error()
        partition = message.partition()
        assert partition is not None
        if error is None:
            value, offset = message.value(), message.offset()
            assert value is not None
            assert offset is not None
            history.log.append(Poll(FINAL_READER, 0, partition, offset, Record.decode(value)))
        elif error.code() == KafkaError._PARTITION_EOF:
            ended.add(partition)
    consumer.close()


def read_values(servers: str, topic: str, count: int, timeout_s: float = 30.0) -> list[bytes]:
    """The first values of partition 0."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "reader", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    values: list[bytes] = []
    ends_at = time.monotonic() + timeout_s
    while len(values) < count:
        assert time.monotonic() < ends_at, f"only {values} came"
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            value = message.value()
            assert value is not None
            values.append(value)
    consumer.close()
    return values
