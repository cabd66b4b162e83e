"""A connection that asks one thing at a time: no client library, so no waits but the broker's."""

from __future__ import annotations

import itertools
import socket
import struct
import time
from types import TracebackType
from typing import TypeVar

from moldau.protocol.codec import decode, encode
from moldau.protocol.headers import decode_response_header, encode_request_header
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from moldau.protocol.messages.metadata import MetadataRequest, MetadataResponse
from moldau.protocol.schema import Message

CLIENT_ID = "bench"
ANSWER_S_MAX = 60
CREATE_TOPICS_VERSION = 7
DELETE_TOPICS_VERSION = 5
LIST_OFFSETS_VERSION = 7
METADATA_VERSION = 12
LATEST = -1
CONSUMER = -1
READY_S_MAX = 240
READY_POLL_S = 0.002

_SIZE = struct.Struct(">i")
M = TypeVar("M", bound=Message)


def request_frame(request: Message, version: int, correlation_id: int) -> bytes:
    """A request as it goes over the wire, with its size."""
    assert request.KEY is not None
    header = encode_request_header(request.KEY, version, correlation_id, CLIENT_ID)
    body = encode(request, version)
    return _SIZE.pack(len(header) + len(body)) + header + body


class Wire:
    """One connection to one broker."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S_MAX)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._correlation_ids = itertools.count(1)

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._socket.close()

    def ask(self, request: Message, response: type[M], version: int) -> M:
        correlation_id = next(self._correlation_ids)
        answer = self.exchange(request_frame(request, version, correlation_id))
        answered_id, position = decode_response_header(answer, response, version)
        assert answered_id == correlation_id
        return decode(response, version, answer, position)

    def exchange(self, frame: bytes) -> bytes:
        """The answer to a frame, without its size."""
        data = bytearray(self._send(frame))
        self._read_into(memoryview(data))
        return bytes(data)

    def exchange_into(self, frame: bytes, memory: memoryview) -> memoryview:
        """The same, in memory that is there and large enough."""
        answer = memory[: self._send(frame)]
        self._read_into(answer)
        return answer

    def _send(self, frame: bytes) -> int:
        """How long the answer is."""
        self._socket.sendall(frame)
        head = bytearray(_SIZE.size)
        self._read_into(memoryview(head))
        size: int = _SIZE.unpack(head)[0]
        return size

    def _read_into(self, view: memoryview) -> None:
        position = 0
        while position < len(view):
            count = self._socket.recv_into(view[position:])
            if not count:
                raise ConnectionResetError("the broker closed the connection")
            position += count

    def metadata(self) -> MetadataResponse:
        """All brokers and topics."""
        return self.ask(MetadataRequest(topics=None), MetadataResponse, METADATA_VERSION)

    def create_topics(self, names: list[str], partitions: int = 1, replication_factor: int = 1) -> None:
        topics = [
            CreatableTopic(name=name, num_partitions=partitions, replication_factor=replication_factor)
            for name in names
        ]
        answer = self.ask(CreateTopicsRequest(topics=topics), CreateTopicsResponse, CREATE_TOPICS_VERSION)
        failed = [(topic.name, topic.error_code, topic.error_message) for topic in answer.topics if topic.error_code]
        assert not failed, failed
        assert len(answer.topics) == len(names)

    def delete_topics(self, names: list[str]) -> None:
        request = DeleteTopicsRequest(topic_names=names, timeout_ms=ANSWER_S_MAX * 1000)
        answer = self.ask(request, DeleteTopicsResponse, DELETE_TOPICS_VERSION)
        failed = [(topic.name, topic.error_code) for topic in answer.responses if topic.error_code]
        assert not failed, failed

    def await_ready(self, names: list[str], partitions: int = 1) -> None:
        """Until every partition tells its end: Kafka's Metadata names leaders that have not opened their logs yet."""
        wanted = [ListOffsetsPartition(partition_index=index, timestamp=LATEST) for index in range(partitions)]
        deadline = time.monotonic() + READY_S_MAX
        while names:
            topics = [ListOffsetsTopic(name=name, partitions=wanted) for name in names]
            request = ListOffsetsRequest(replica_id=CONSUMER, topics=topics)
            answer = self.ask(request, ListOffsetsResponse, LIST_OFFSETS_VERSION)
            names = [topic.name for topic in answer.topics if any(one.error_code for one in topic.partitions)]
            assert time.monotonic() < deadline, f"{len(names)} topics are not ready after {READY_S_MAX} s: {names[:9]}"
            time.sleep(READY_POLL_S)


def metadata_frame() -> bytes:
    """A request for all topics, ready to be sent again and again."""
    return request_frame(MetadataRequest(topics=None), METADATA_VERSION, 0)
