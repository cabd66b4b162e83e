"""Whatever a client sends in one burst is answered, and written, as if it had come one by one."""

from __future__ import annotations

import socket
import struct
from pathlib import Path
from random import Random

import pytest

from moldau.broker.repeated_produce import Repetition
from moldau.protocol.api import ApiKey
from moldau.protocol.codec import encode
from moldau.protocol.headers import encode_request_header
from moldau.protocol.messages.api_versions import ApiVersionsRequest
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from moldau.protocol.schema import Message
from moldau.records.batch import Producer
from moldau.testing.local_cluster import LocalCluster
from tests.broker.requests_to_broker import records

CLIENT = "burst"
TIMEOUT_S = 20


class RawConnection:
    """A socket that sends frames as they are given, and reads answers one by one."""

    def __init__(self, cluster: LocalCluster) -> None:
        host, port = cluster.bootstrap_servers.split(":")
        self._socket = socket.create_connection((host, int(port)), TIMEOUT_S)
        self._reader = self._socket.makefile("rb")

    def exchange(self, frames: list[bytes]) -> list[bytes]:
        self.send(b"".join(frames))
        return [self._answer() for _ in frames]

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def _answer(self) -> bytes:
        (size,) = struct.unpack(">i", self._reader.read(4))
        return self._reader.read(size)

    def close(self) -> None:
        self._reader.close()
        self._socket.close()


def frame(request: Message, version: int, correlation_id: int) -> bytes:
    message = encode_request_header(ApiKey(request.KEY), version, correlation_id, CLIENT) + encode(request, version)
    return struct.pack(">i", len(message)) + message


def produce(
    topic: str, data: bytes, correlation_id: int, *, acks: int = 1, partition: int = 0, version: int = 9
) -> bytes:
    one = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=data)])
    return frame(ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[one]), version, correlation_id)


def stream(seed: int) -> list[bytes]:
    """Mostly produces to one partition; some to others, some wrong, some other requests."""
    random, frames, sequence = Random(seed), list[bytes](), 0
    for correlation_id in range(60):
        values = [random.randbytes(random.randrange(300)) for _ in range(random.randint(1, 3))]
        choice = random.random()
        if choice < 0.5:
            frames.append(produce("one", records(*values), correlation_id))
        elif choice < 0.7:
            wrong = random.choice([0, 0, 0, 0, -1, 5])
            batch = records(*values, producer=Producer(7, 0, max(0, sequence + wrong)))
            sequence += len(values) if wrong == 0 else 0
            frames.append(produce("one", batch, correlation_id))
        elif choice < 0.8:
            damaged = bytearray(records(*values))
            damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
            frames.append(produce("one", bytes(damaged), correlation_id))
        elif choice < 0.9:
            topic, partition, acks = random.choice([("one", 1, 1), ("two", 0, 1), ("none", 0, 1), ("one", 0, -1)])
            version = random.choice([7, 9, 11])
            sent = produce(topic, records(*values), correlation_id, acks=acks, partition=partition, version=version)
            frames.append(sent)
        else:
            asked = random.choice([ApiVersionsRequest(), MetadataRequest(topics=[MetadataRequestTopic(name="one")])])
            frames.append(frame(asked, 3 if isinstance(asked, ApiVersionsRequest) else 9, correlation_id))
    return frames


def outcome(data: Path, frames: list[bytes], burst_max: int, seed: int) -> tuple[list[bytes], dict[str, bytes]]:
    """The answers, and the logs' bytes."""
    config = {"auto.create.topics.enable": "false", "listeners": "PLAINTEXT://127.0.0.1:0"}
    random, answers = Random(seed), list[bytes]()
    with LocalCluster(config, data=data) as cluster:
        cluster.create_topic("one", partitions=2, config={"segment.bytes": "6000", "index.interval.bytes": "500"})
        cluster.create_topic("two")
        connection = RawConnection(cluster)
        at = 0
        while at < len(frames):
            burst = frames[at : at + random.randint(1, burst_max)]
            answers += connection.exchange(burst)
            at += len(burst)
        connection.close()
    suffixes = {".log", ".index", ".timeindex", ".snapshot"}
    topics = [path for topic in ("one-*/*", "two-*/*") for path in sorted(data.glob(topic))]
    written = {str(path.relative_to(data)): path.read_bytes() for path in topics if path.suffix in suffixes}
    return answers, written


@pytest.mark.parametrize("seed", range(4))
def test_a_burst_is_answered_and_written_as_its_requests_one_by_one(tmp_path: Path, seed: int) -> None:
    frames = stream(seed)
    one_by_one = outcome(tmp_path / "single", frames, 1, seed)
    in_bursts = outcome(tmp_path / "bursts", frames, 12, seed)
    assert len(one_by_one[1]) > 4
    for sent, single, burst in zip(range(len(frames)), one_by_one[0], in_bursts[0], strict=True):
        if frames[sent][4:6] == struct.pack(">h", ApiKey.PRODUCE):
            assert single == burst, sent
        else:
            assert single[:4] == burst[:4]
    assert one_by_one[1] == in_bursts[1]


def test_requests_that_repeat_are_taken_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    take = Repetition.__call__

    def watched(self: Repetition, data: memoryview, start: int, filled: int, size_max: int) -> tuple[bytes, int, int]:
        answer = take(self, data, start, filled, size_max)
        taken.append(answer[1])
        return answer

    monkeypatch.setattr(Repetition, "__call__", watched)
    with LocalCluster(data=tmp_path) as cluster:
        cluster.create_topic("one")
        connection = RawConnection(cluster)
        connection.exchange([produce("one", records(b"v"), n) for n in range(4)])
        connection.exchange([produce("one", records(b"w" * 20 * n), n) for n in range(9)])
        connection.close()
    assert sum(taken) == 10, "the first begins a segment, and two more have to come before the next is expected"
    assert max(taken) > 1
