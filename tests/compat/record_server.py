"""A server that keeps what clients produce and gives it back: real clients on our protocol, records and network.

It is no broker: one partition a topic, in memory, no groups. It exists so that the bytes that real clients write can be
looked at, and so that they can be handed bytes of ours.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from types import TracebackType
from typing import Any

import uvloop

from moldau.base.error_codes import ErrorCode
from moldau.broker.call import Call
from moldau.broker.dispatcher import Dispatcher
from moldau.broker.handlers import all_registrations, registration
from moldau.net.server import Listener, Server
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from moldau.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from moldau.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from moldau.records.batch import RecordBatch
from moldau.records.reader import read_batch
from moldau.records.record import Record
from moldau.records.walk import batches

WAIT_S = 0.05
PATIENCE_S = 30


class RecordServer:
    """Runs in a thread of its own; `logs` has the bytes of each topic's only partition."""

    def __init__(self) -> None:
        self.logs: dict[str, bytearray] = {}
        self.port = 0
        self.registrations = {
            **all_registrations(),
            ApiKey.METADATA: registration(ApiKey.METADATA, "0-9", metadata, on_error=no_error),
            ApiKey.PRODUCE: registration(ApiKey.PRODUCE, "3-9", produce, on_error=no_error),
            ApiKey.FETCH: registration(ApiKey.FETCH, "4-11", fetch, on_error=no_error),
            # There is none to find; but librdkafka takes a broker without this for one that cannot read lz4.
            ApiKey.FIND_COORDINATOR: registration(ApiKey.FIND_COORDINATOR, "0-2", find_coordinator),
            ApiKey.LIST_OFFSETS: registration(ApiKey.LIST_OFFSETS, "1-6", list_offsets, on_error=no_error),
        }
        self._loop: asyncio.AbstractEventLoop
        self._ended: asyncio.Event
        self._started: Future[int] = Future()
        self._thread = threading.Thread(target=lambda: uvloop.run(self._serve()))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def records(self, topic: str) -> list[Record]:
        """What was produced to a topic, every batch of it checked and decoded by us."""
        found: list[Record] = []
        for batch in self.batches(topic):
            batch.check()
            found += read_batch(batch)
        return found

    def batches(self, topic: str) -> list[RecordBatch]:
        return list(batches(bytes(self.logs[topic])))

    def next_offset(self, topic: str) -> int:
        found = self.batches(topic)
        return found[-1].next_offset if found else 0

    async def _serve(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        server = Server([Listener("PLAINTEXT", "127.0.0.1", 0)], Dispatcher(self, self.registrations))
        await server.start()
        self._started.set_result(server.addresses["PLAINTEXT"][1])
        await self._ended.wait()
        await server.drain(100)

    def __enter__(self) -> RecordServer:
        self._thread.start()
        self.port = self._started.result(PATIENCE_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(PATIENCE_S)


def no_error(*_: object) -> Any:
    raise AssertionError("this server's handlers do not fail")


def metadata(server: RecordServer, request: MetadataRequest, call: Call) -> MetadataResponse:
    wanted = server.logs if not request.topics else [topic.name or "" for topic in request.topics]
    for name in wanted:
        server.logs.setdefault(name, bytearray())
    partition = MetadataResponsePartition(leader_id=1, replica_nodes=[1], isr_nodes=[1])
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=1, host="127.0.0.1", port=server.port)],
        cluster_id="records",
        controller_id=1,
        topics=[MetadataResponseTopic(name=name, partitions=[partition]) for name in wanted],
    )


def find_coordinator(server: RecordServer, request: FindCoordinatorRequest, call: Call) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE, node_id=-1, port=-1)


def produce(server: RecordServer, request: ProduceRequest, call: Call) -> ProduceResponse:
    responses = []
    for topic in request.topic_data:
        for partition in topic.partition_data:
            offset = server.next_offset(topic.name)
            data = bytearray(partition.records or b"")
            batch = RecordBatch(data)
            batch.check_produced()
            batch.assign(offset, 0)
            server.logs[topic.name] += data
            made = PartitionProduceResponse(index=partition.index, base_offset=offset)
            responses.append(TopicProduceResponse(name=topic.name, partition_responses=[made]))
    return ProduceResponse(responses=responses)


def fetch(server: RecordServer, request: FetchRequest, call: Call) -> FetchResponse | None:
    response = FetchResponse(
        responses=[
            FetchableTopicResponse(
                topic=topic.topic,
                partitions=[_data(server, topic.topic, partition.fetch_offset) for partition in topic.partitions],
            )
            for topic in request.topics
        ]
    )
    if any(partition.records for topic in response.responses for partition in topic.partitions):
        return response
    call.park()
    asyncio.get_running_loop().call_later(WAIT_S, call.respond, response)
    return None


def _data(server: RecordServer, topic: str, offset: int) -> PartitionData:
    wanted = [batch for batch in server.batches(topic) if batch.last_offset >= offset]
    end = server.next_offset(topic)
    records = b"".join(batch.data for batch in wanted)
    return PartitionData(
        high_watermark=end, last_stable_offset=end, log_start_offset=0, aborted_transactions=None, records=records
    )


def list_offsets(server: RecordServer, request: ListOffsetsRequest, call: Call) -> ListOffsetsResponse:
    found = [
        ListOffsetsPartitionResponse(
            partition_index=partition.partition_index,
            offset=0 if partition.timestamp == -2 else server.next_offset(topic.name),
        )
        for topic in request.topics
        for partition in topic.partitions
    ]
    names = [topic.name for topic in request.topics for _ in topic.partitions]
    return ListOffsetsResponse(
        topics=[ListOffsetsTopicResponse(name=name, partitions=[one]) for name, one in zip(names, found, strict=True)]
    )
