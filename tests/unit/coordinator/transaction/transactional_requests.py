"""Transactional requests as tests write them: short, and with the one code or result that they are about."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from moldau.protocol.messages.describe_transactions import DescribeTransactionsRequest
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.list_transactions import ListTransactionsRequest
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from moldau.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from moldau.protocol.schema import Message
from moldau.records.batch import Producer
from moldau.records.builder import build_batch
from moldau.records.control import read_end_transaction_marker
from moldau.records.reader import read_batch
from moldau.records.record import Record
from moldau.records.walk import batches

TRANSACTION = 1
READ_COMMITTED = 1
PATIENCE_S = 20.0


class Cluster(Protocol):
    """Whoever can be asked: a `LocalCluster`, or a broker somewhere else."""

    def request(self, request: Message, version: int | None = None) -> Any: ...


class Held(NamedTuple):
    code: ErrorCode
    producer_id: int
    producer_epoch: int


@dataclass
class Transactional:
    """A producer with a transactional id, request by request."""

    cluster: Cluster
    transactional_id: str = "tx"
    producer_id: int = -1
    producer_epoch: int = -1
    sequences: dict[tuple[str, int], int] = field(default_factory=dict)

    def init_once(self, version: int = 4, timeout_ms: int = 60_000, **more: Any) -> Held:
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id, transaction_timeout_ms=timeout_ms, **more
        )
        answer = self.cluster.request(request, version)
        return Held(ErrorCode(answer.error_code), answer.producer_id, answer.producer_epoch)

    def init(self, **more: Any) -> Held:
        """As clients do: find the coordinator, and ask until there is an answer that lasts."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            self.find()
            held = self.init_once(**more)
            passing = (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            if held.code not in (*passing, ErrorCode.NOT_COORDINATOR) or time.monotonic() > deadline:
                break
            time.sleep(0.02)
        self.producer_id, self.producer_epoch = held.producer_id, held.producer_epoch
        self.sequences.clear()
        return held

    def find(self, *, group: bool = False) -> None:
        """Make sure that there is a coordinator; with `group`, of the group of this name."""
        request = FindCoordinatorRequest(key=self.transactional_id, key_type=0 if group else TRANSACTION)
        deadline = time.monotonic() + PATIENCE_S
        while self.cluster.request(request, 3).error_code and time.monotonic() < deadline:
            time.sleep(0.02)

    def add(self, topic: str, *partitions: int, version: int = 3) -> ErrorCode:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=list(partitions))],
        )
        results = self.cluster.request(request, version).results_by_topic_v3_and_below
        codes = {one.partition_error_code for each in results for one in each.results_by_partition}
        assert len(codes) == 1, codes
        return ErrorCode(codes.pop())

    def transaction(self, topic: str, *partitions: int, verify_only: bool = True) -> AddPartitionsToTxnTransaction:
        return AddPartitionsToTxnTransaction(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            verify_only=verify_only,
            topics=[AddPartitionsToTxnTopic(name=topic, partitions=list(partitions))],
        )

    def add_offsets(self, group_id: str, version: int = 3) -> ErrorCode:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            group_id=group_id,
        )
        return ErrorCode(self.cluster.request(request, version).error_code)

    def produce(self, topic: str, value: bytes, partition: int = 0, version: int = 9, **more: Any) -> ErrorCode:
        sequence = self.sequences.get((topic, partition), 0)
        batch = build_batch(
            [Record(0, int(time.time() * 1000), None, value)],
            producer=Producer(self.producer_id, self.producer_epoch, sequence),
            transactional=True,
        )
        request = ProduceRequest(
            transactional_id=more.pop("transactional_id", self.transactional_id),
            acks=-1,
            timeout_ms=5_000,
            topic_data=[
                TopicProduceData(
                    name=topic, partition_data=[PartitionProduceData(index=partition, records=bytes(batch))]
                )
            ],
        )
        answer = self.cluster.request(request, version)
        code = ErrorCode(answer.responses[0].partition_responses[0].error_code)
        if not code:
            self.sequences[topic, partition] = sequence + 1
        return code

    def end(self, committed: bool, version: int = 3) -> ErrorCode:
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            committed=committed,
        )
        return ErrorCode(self.cluster.request(request, version).error_code)

    def describe(self) -> Any:
        answer = self.cluster.request(DescribeTransactionsRequest(transactional_ids=[self.transactional_id]))
        return answer.transaction_states[0]

    def wait_for(self, *states: str) -> str:
        deadline = time.monotonic() + PATIENCE_S
        while (state := str(self.describe().transaction_state)) not in states and time.monotonic() < deadline:
            time.sleep(0.01)
        return state


def listed(cluster: Cluster, **filters: Any) -> Any:
    return cluster.request(ListTransactionsRequest(**filters))


def write_marker(cluster: Cluster, topic: str, partition: int = 0, version: int = 1, **marker: Any) -> ErrorCode:
    one = WritableTxnMarker(topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])], **marker)
    answer = cluster.request(WriteTxnMarkersRequest(markers=[one]), version)
    return ErrorCode(answer.markers[0].topics[0].partitions[0].error_code)


def read(cluster: Cluster, topic: str, partition: int = 0) -> list[str]:
    """What is in a partition: values, and markers as `commit` and `abort`."""
    one = FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(topics=[FetchTopic(topic=topic, partitions=[one])], max_bytes=1 << 20)
    data = cluster.request(request, 12).responses[0].partitions[0]
    found = []
    for batch in batches(bytes(data.records or b"")):
        for record in read_batch(batch):
            marker = read_end_transaction_marker(record) if batch.is_control else None
            found.append(marker.type.name.lower() if marker is not None else bytes(record.value or b"").decode())
    return found


def read_committed(cluster: Cluster, topic: str, partition: int = 0) -> list[str]:
    """What a consumer of committed records would show, by the rules of KIP-98."""
    one = FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        topics=[FetchTopic(topic=topic, partitions=[one])], max_bytes=1 << 20, isolation_level=READ_COMMITTED
    )
    data = cluster.request(request, 12).responses[0].partitions[0]
    aborted = sorted((each.first_offset, each.producer_id) for each in data.aborted_transactions or ())
    skipped: set[int] = set()
    shown = []
    for batch in batches(bytes(data.records or b"")):
        while aborted and aborted[0][0] <= batch.last_offset:
            skipped.add(aborted.pop(0)[1])
        if batch.is_control:
            skipped.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in skipped):
            shown += [bytes(record.value or b"").decode() for record in read_batch(batch)]
    return shown
