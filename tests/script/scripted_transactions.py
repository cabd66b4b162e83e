"""A transaction coordinator that is driven by the lines of a script, without disks, networks or real time.

It is made of the real shard, operations and marker sender. The log is a list, brokers are names, and whatever would
go out is a line of output. `replication stops` keeps records in the log from being replicated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

from moldau.base.clock import VirtualClock
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.cluster.internal_topics import TRANSACTION_STATE
from moldau.cluster.metadata_cache import NO_LEADER, MetadataCache
from moldau.coordinator.runtime.result import Result, StoredRecord
from moldau.coordinator.runtime.shard import ShardContext, ShardTimers
from moldau.coordinator.transaction.broker_links import Answered, BrokerLinks
from moldau.coordinator.transaction.ending import abort_timed_out, end_transaction, expired, forget, timed_out
from moldau.coordinator.transaction.marker_sender import MarkerSender
from moldau.coordinator.transaction.partitions import add_partitions, verify_partitions
from moldau.coordinator.transaction.producers import NEEDS_PRODUCER_ID, Holder, init_producer_id
from moldau.coordinator.transaction.shard import TransactionShard
from moldau.coordinator.transaction.states import BY_TITLE
from moldau.coordinator.transaction.transaction import ProducerIdAndEpoch, Transaction
from moldau.coordinator.transaction.transaction_records import (
    decode_transaction,
    encode_transaction,
    transactional_id_of,
)
from moldau.protocol.messages.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from moldau.storage.log_directory import TopicPartition
from tests.unit.replication.manual_timers import ManualTimers

EXPIRATION_MS = 7 * 24 * 3600 * 1000
NONE = ErrorCode.NONE


def partition_of(word: str) -> TopicPartition:
    topic, _, number = word.rpartition("-")
    return topic, int(number)


def named(partitions: object) -> str:
    return " ".join(f"{topic}-{number}" for topic, number in sorted(cast("set[TopicPartition]", partitions)))


def producer_of(word: str) -> ProducerIdAndEpoch:
    producer_id, epoch = word.split("/")
    return ProducerIdAndEpoch(int(producer_id), int(epoch))


class ScriptedTransactions:
    """`said` is what the last line of the script has brought about."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.clock = VirtualClock()
        self.timers = ManualTimers()
        self.log: list[StoredRecord] = []
        self.leaders: dict[TopicPartition, int] = {}
        self.requests: dict[int, tuple[WriteTxnMarkersRequest, Answered]] = {}
        self.coordinator_epoch = 0
        self.next_producer_id = 1000
        self.unreplicated: list[Callable[[ErrorCode], None]] | None = None
        self._load()

    # -- what surrounds the shard

    def _load(self) -> None:
        metadata = SimpleNamespace(
            topics={TRANSACTION_STATE: {}},
            partition=lambda topic, number: (
                SimpleNamespace(leader=self.leaders[topic, number]) if (topic, number) in self.leaders else None
            ),
        )
        links = SimpleNamespace(send=self._sent)
        self.requests.clear()
        self.sender = MarkerSender(cast(MetadataCache, metadata), cast(BrokerLinks, links), self.timers, self._marked)
        timers = ShardTimers(self.timers, lambda operation: self._run(lambda _shard: operation()))
        self.shard = TransactionShard(ShardContext(0, self.clock, timers), self._send_markers)
        for key, value in self.log:
            self.shard.replay(key, value, -1)
        self.shard.loaded()
        self.timers.advance(1)

    def _send_markers(self, shard: int, transaction: Transaction) -> None:
        self.sender.send(shard, transaction, self.coordinator_epoch)

    def _marked(self, _shard: int, transaction: Transaction) -> None:
        self._run(lambda shard: shard.complete(transaction))

    def _sent(self, broker_id: int, request: WriteTxnMarkersRequest, answered: Answered) -> None:
        for marker in request.markers:
            what = "commit" if marker.transaction_result else "abort"
            keys = [(topic.name, number) for topic in marker.topics for number in topic.partition_indexes]
            producer = f"{marker.producer_id}/{marker.producer_epoch}"
            epoch = f"coordinator epoch {marker.coordinator_epoch}"
            self.said.append(f"to broker {broker_id}: {what} {producer} in {named(keys)}, {epoch}")
        self.requests[broker_id] = request, answered

    def _run(self, operation: Callable[[TransactionShard], Result[Any]], answer: bool = False) -> Any:
        """The contract of the runtime: replay at once, tell when it is replicated."""
        try:
            result = operation(self.shard)
        except ApiError as error:
            if answer:
                self.said.append(f"= {error.code.name}")
            return None
        for record in result.records:
            self.shard.replay(record.key, record.value, -1)
            self.log.append(record)
            self.said.append(self._shown(record))

        def replicated(error: ErrorCode) -> None:
            if result.on_append is not None:
                result.on_append(error)
            if answer and result.response is not NEEDS_PRODUCER_ID:
                self.said.append(f"= {self._answer(result.response if error is NONE else error)}")

        if self.unreplicated is None:
            replicated(NONE)
        else:
            self.unreplicated.append(replicated)
        return result.response

    @staticmethod
    def _shown(record: StoredRecord) -> str:
        transactional_id = transactional_id_of(record.key)
        assert transactional_id is not None
        if record.value is None:
            return f"log: {transactional_id} tombstone"
        stored = decode_transaction(transactional_id, record.value)
        producer = f"{stored.producer_id}/{stored.producer_epoch}"
        return f"log: {transactional_id} {stored.state.title} {producer} {named(stored.partitions)}".rstrip()

    @staticmethod
    def _answer(response: Any) -> str:
        if isinstance(response, ProducerIdAndEpoch):
            return f"producer {response.producer_id}, epoch {response.producer_epoch}"
        if isinstance(response, ApiError):
            return response.code.name
        if isinstance(response, dict):
            return ", ".join(f"{named([key])} {code.name}" for key, code in sorted(response.items()))
        return ErrorCode(response).name

    # -- the words of a script

    def obey(self, line: str) -> list[str]:
        """Carry out one line; what came of it."""
        self.said = []
        command, *words = line.split()
        getattr(self, f"do_{command}")(*words)
        return self.said

    def do_init(self, transactional_id: str, *options: str) -> None:
        """init ID [timeout=MS] [as=PRODUCER/EPOCH]"""
        named_options = dict(option.split("=") for option in options)
        expected = producer_of(named_options["as"]) if "as" in named_options else None
        holder = Holder(transactional_id, int(named_options.get("timeout", "60000")), expected)
        if self._run(partial(init_producer_id, holder=holder), answer=True) is NEEDS_PRODUCER_ID:
            new, self.next_producer_id = self.next_producer_id, self.next_producer_id + 1
            self._run(partial(init_producer_id, holder=holder, new_producer_id=new), answer=True)

    def do_add(self, transactional_id: str, producer: str, *partitions: str) -> None:
        """add ID PRODUCER/EPOCH PARTITION…"""
        keys = frozenset(map(partition_of, partitions))
        for key in keys:
            self.leaders.setdefault(key, 1)
        operation = partial(
            add_partitions, transactional_id=transactional_id, producer=producer_of(producer), partitions=keys
        )
        self._run(operation, answer=True)

    def do_verify(self, transactional_id: str, producer: str, *partitions: str) -> None:
        """verify ID PRODUCER/EPOCH PARTITION…"""
        keys = list(map(partition_of, partitions))
        operation = partial(
            verify_partitions, transactional_id=transactional_id, producer=producer_of(producer), partitions=keys
        )
        self._run(operation, answer=True)

    def do_commit(self, transactional_id: str, producer: str) -> None:
        """commit ID PRODUCER/EPOCH"""
        self._end(transactional_id, producer, True)

    def do_abort(self, transactional_id: str, producer: str) -> None:
        """abort ID PRODUCER/EPOCH"""
        self._end(transactional_id, producer, False)

    def _end(self, transactional_id: str, producer: str, committed: bool) -> None:
        operation = partial(
            end_transaction, transactional_id=transactional_id, producer=producer_of(producer), committed=committed
        )
        self._run(operation, answer=True)

    def do_broker(self, number: str, verb: str, *refusals: str) -> None:
        """broker N writes [PARTITION=CODE…] | broker N vanishes: how it answers the markers that it was sent"""
        request, answered = self.requests.pop(int(number))
        if verb == "vanishes":
            answered(None)
            return
        codes = {partition_of(key): ErrorCode[code] for key, code in (refusal.split("=") for refusal in refusals)}
        answered(
            WriteTxnMarkersResponse(
                markers=[
                    WritableTxnMarkerResult(
                        producer_id=marker.producer_id,
                        topics=[
                            WritableTxnMarkerTopicResult(
                                name=topic.name,
                                partitions=[
                                    WritableTxnMarkerPartitionResult(
                                        partition_index=index, error_code=codes.get((topic.name, index), NONE)
                                    )
                                    for index in topic.partition_indexes
                                ],
                            )
                            for topic in marker.topics
                        ],
                    )
                    for marker in request.markers
                ]
            )
        )

    def do_leader(self, partition: str, broker: str) -> None:
        """leader PARTITION N | none | gone"""
        if broker == "gone":
            self.leaders.pop(partition_of(partition), None)
        else:
            self.leaders[partition_of(partition)] = NO_LEADER if broker == "none" else int(broker)

    def do_after(self, duration_ms: str) -> None:
        """after MS: time passes"""
        self.clock.advance(int(duration_ms))
        self.timers.advance(int(duration_ms))

    def do_timeouts(self) -> None:
        """timeouts: what is due every transaction.abort.timed.out.transaction.cleanup.interval.ms"""
        for transaction in timed_out(self.shard):
            self._run(partial(abort_timed_out, transaction=transaction))

    def do_expiry(self) -> None:
        """expiry: what is due every transaction.remove.expired.transaction.cleanup.interval.ms"""
        if transactional_ids := expired(self.shard, EXPIRATION_MS):
            self._run(partial(forget, transactional_ids=transactional_ids))

    def do_failover(self) -> None:
        """failover: another broker loads the log and goes on as coordinator"""
        self.shard.unloaded()
        self.sender.close()
        self.unreplicated = None
        self.coordinator_epoch += 1
        self._load()

    def do_replication(self, verb: str) -> None:
        """replication stops | resumes | fails (who waits hears that it took too long)"""
        waiting, self.unreplicated = self.unreplicated or [], [] if verb == "stops" else None
        for tell in waiting:
            tell(NONE if verb == "resumes" else ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def do_stored(self, transactional_id: str, state: str, producer: str, *partitions: str) -> None:
        """stored ID STATE PRODUCER/EPOCH PARTITION…: a record that is in the log since long ago"""
        keys = frozenset(map(partition_of, partitions))
        now_ms = self.clock.now_ms()
        transaction = Transaction(
            transactional_id, *producer_of(producer), 60_000, BY_TITLE[state], keys, now_ms, now_ms
        )
        self.log.append(encode_transaction(transaction))
        self.shard.replay(*self.log[-1], -1)
        for key in keys:
            self.leaders.setdefault(key, 1)
