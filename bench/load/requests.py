"""Produce requests of one record of 100 bytes on bare connections, each with so many in flight; acks=1.

The request is encoded once; its bytes are sent again and again with the correlation id changed. For every answer one
more request is sent; what one read has answered is sent in one write. All answers have the same length, so they are
found by counting; of each the correlation id, the error code and the offset are checked. The latency of a request
runs from its write to the read of its answer. Every connection writes to a partition of its own.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections import deque

from bench.load.program import Figures, answer
from bench.load.wire import request_frame
from moldau.protocol.codec import encode
from moldau.protocol.headers import encode_response_header
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from moldau.records.builder import build_batch

VERSION = 9  # the newest that names topics instead of giving their ids, but for errors: what most clients send
RECORD_BYTES = 100
SETTLE_S = 0.3
SIZE_BYTES = 4
MARK = 0x0123_4567_89AB_CDEF  # stands for the offset in a sample answer
RECEIVE_BYTES = 256 * 1024

_CORRELATION = struct.Struct(">i")
_CORRELATION_AT_REQUEST = 8  # after size, key and version
_ERROR_AND_OFFSET = struct.Struct(">hq")


class Connection:
    """A pipeline of requests that is always full."""

    def __init__(self, port: int, topic: str, partition: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        batch = build_batch([(0, time.time_ns() // 1_000_000, None, bytes(RECORD_BYTES), ())])
        data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=batch)])]
        request = ProduceRequest(acks=1, timeout_ms=30_000, topic_data=data)
        self._frame = bytearray(request_frame(request, VERSION, 0))
        partitions = [PartitionProduceResponse(index=partition, base_offset=MARK)]
        sample = ProduceResponse(responses=[TopicProduceResponse(name=topic, partition_responses=partitions)])
        answer = bytes(SIZE_BYTES) + encode_response_header(0, VERSION, 0) + encode(sample, VERSION)
        self._answer_bytes = len(answer)
        self._error_at = answer.index(MARK.to_bytes(8, "big")) - 2
        self._rest = b""
        self._sent_ns: deque[int] = deque()
        self._next_id = self._next_answer = 0
        self._last_offset = -1

    def send(self, count: int) -> None:
        frames = bytearray()
        for correlation_id in range(self._next_id, self._next_id + count):
            _CORRELATION.pack_into(self._frame, _CORRELATION_AT_REQUEST, correlation_id)
            frames += self._frame
        self._next_id += count
        now_ns = time.perf_counter_ns()
        self._sent_ns.extend([now_ns] * count)
        self.socket.sendall(frames)

    def receive(self, latencies_ns: list[int]) -> int:
        """Read what is there; the number of answers in it."""
        data = self.socket.recv(RECEIVE_BYTES)
        now_ns = time.perf_counter_ns()
        assert data, "the broker closed the connection"
        if self._rest:
            data = self._rest + data
        count, rest_bytes = divmod(len(data), self._answer_bytes)
        self._rest = data[len(data) - rest_bytes :] if rest_bytes else b""
        for start in range(0, count * self._answer_bytes, self._answer_bytes):
            (correlation_id,) = _CORRELATION.unpack_from(data, start + SIZE_BYTES)
            error_code, offset = _ERROR_AND_OFFSET.unpack_from(data, start + self._error_at)
            assert correlation_id == self._next_answer, "an answer out of turn"
            assert error_code == 0, f"error {error_code}"
            assert offset > self._last_offset, "an offset that goes back"
            self._next_answer += 1
            self._last_offset = offset
            latencies_ns.append(now_ns - self._sent_ns.popleft())
        return count


def requests(port: int, topic: str, connections: int, in_flight: int, seconds: float) -> Figures:
    pipelines = {each.socket.fileno(): each for each in (Connection(port, topic, at) for at in range(connections))}
    readable = select.epoll()
    for number, each in pipelines.items():
        readable.register(number, select.EPOLLIN)
        each.send(in_flight)
    run(pipelines, readable, SETTLE_S, [])
    latencies_ns: list[int] = []
    took_s = run(pipelines, readable, seconds, latencies_ns)
    for each in pipelines.values():
        each.socket.close()
    latencies_ns.sort()
    count = len(latencies_ns)
    return {
        "requests_per_s": count / took_s,
        "p50_us": latencies_ns[count // 2] / 1e3,
        "p99_us": latencies_ns[count * 99 // 100] / 1e3,
    }


def run(pipelines: dict[int, Connection], readable: select.epoll, seconds: float, latencies_ns: list[int]) -> float:
    """Keep the pipelines full for so long; how long it was."""
    started_s = time.perf_counter()
    took_s = 0.0
    while took_s < seconds:
        for number, _event in readable.poll():
            pipeline = pipelines[number]
            count = pipeline.receive(latencies_ns)
            if count:
                pipeline.send(count)
        took_s = time.perf_counter() - started_s
    return took_s


if __name__ == "__main__":
    answer(requests)
