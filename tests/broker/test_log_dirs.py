"""Log directories through a broker: what is where, moving a replica in use, and a directory that fails."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.broker.node import Node
from moldau.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from moldau.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from moldau.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from moldau.records.batch import Producer
from moldau.records.walk import batches
from moldau.testing.local_cluster import LocalCluster
from tests.broker.requests_to_broker import Broker, records


@pytest.fixture
def directories(tmp_path: Path) -> list[Path]:
    return [tmp_path / "one", tmp_path / "two"]


@pytest.fixture
def broker(directories: list[Path]) -> Iterator[Broker]:
    with LocalCluster({"log.dirs": ",".join(map(str, directories))}) as cluster:
        cluster.create_topic("moved")
        yield Broker(cluster)


def found_in(broker: Broker, version: int = 4) -> dict[str, list[tuple[str, bool]]]:
    answer = broker.cluster.request(DescribeLogDirsRequest(topics=None), version)
    return {
        Path(result.log_dir).name: [
            (topic.name, partition.is_future_key) for topic in result.topics for partition in topic.partitions
        ]
        for result in answer.results
        if not result.error_code
    }


def move(broker: Broker, target: Path, topic: str = "moved") -> int:
    wanted = AlterReplicaLogDir(path=str(target), topics=[AlterReplicaLogDirTopic(name=topic, partitions=[0])])
    answer = broker.cluster.request(AlterReplicaLogDirsRequest(dirs=[wanted]))
    code: int = answer.results[0].partitions[0].error_code
    return code


@pytest.mark.parametrize("version", range(5))
def test_replicas_are_described_with_their_directories(broker: Broker, version: int) -> None:
    assert sorted(map(len, found_in(broker, version).values())) == [0, 1]


def test_a_replica_moves_while_it_is_written_and_nothing_is_lost(broker: Broker, directories: list[Path]) -> None:
    (source,) = [name for name, found in found_in(broker).items() if found]
    target = next(path for path in directories if path.name != source)
    for _ in range(50):
        broker.produce("moved", records(b"x" * 10_000))
    assert move(broker, target) == 0
    deadline = time.monotonic() + 20
    while found_in(broker)[target.name] != [("moved", False)]:
        assert time.monotonic() < deadline, found_in(broker)
        assert broker.produce("moved", records(b"y")).error_code == 0
    assert found_in(broker)[source] == []
    end = broker.produce("moved", records(b"z")).base_offset + 1
    offsets: list[int] = []
    while len(offsets) < end:
        found = [batch.base_offset for batch in batches(broker.fetch("moved", len(offsets)).records or b"")]
        assert found, f"nothing from {len(offsets)} on"
        offsets += found
    assert offsets == list(range(end))
    assert (target / "moved-0").is_dir()


def test_moves_that_cannot_be_are_refused(broker: Broker, directories: list[Path]) -> None:
    assert move(broker, directories[0].parent / "three") == ErrorCode.LOG_DIR_NOT_FOUND
    assert move(broker, Path("relative")) == ErrorCode.LOG_DIR_NOT_FOUND
    assert move(broker, directories[0], "not-there-yet") == ErrorCode.REPLICA_NOT_AVAILABLE
    broker.cluster.create_topic("not-there-yet")
    assert ("not-there-yet", False) in found_in(broker)[directories[0].name]


def test_a_failed_directory_takes_its_partitions_offline_and_the_others_go_on(broker: Broker) -> None:
    broker.cluster.create_topic("other")
    (held,) = [name for name, found in found_in(broker).items() if ("moved", False) in found]

    def fail(node: Node) -> None:
        directory = next(one for one in node.directories.directories if one.path.name == held)
        node.directories.fail(directory, OSError(5, "injected"))

    broker.cluster.run_in_loop(fail)
    assert broker.produce("moved", records(b"x")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.fetch("moved", version=10).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.produce("other", records(b"x")).error_code == 0
    answer = broker.cluster.request(DescribeLogDirsRequest(topics=None))
    codes = {Path(result.log_dir).name: result.error_code for result in answer.results}
    assert codes[held] == ErrorCode.KAFKA_STORAGE_ERROR
    broker.cluster.create_topic("made-after")
    assert broker.produce("made-after", records(b"x")).error_code == 0


def test_idempotent_producers_are_described(broker: Broker) -> None:
    broker.produce("moved", records(b"a", b"b", producer=Producer(77, 3, 0)))
    request = DescribeProducersRequest(topics=[TopicRequest(name="moved", partition_indexes=[0, 5])])
    known, unknown = broker.cluster.request(request).topics[0].partitions
    (one,) = known.active_producers
    assert (one.producer_id, one.producer_epoch, one.last_sequence) == (77, 3, 1)
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
