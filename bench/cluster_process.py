"""Three brokers as processes that are one cluster: Moldau's on a ZooKeeper, Kafka's as a quorum of their own (KRaft).

To the scenarios a cluster is a broker: topics are made, records sent and processor time counted in the same way. Both
sides detect a dead broker after the same time, and replicate in the same number of fetchers.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import ClassVar

from bench.bench_broker_process import BrokerProcess
from bench.kafka_server import KafkaServer, Quorum
from bench.load.wire import Wire
from bench.moldau_server import MoldauServer
from moldau.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    RequestPartitionData,
    RequestTopicData,
)
from moldau.protocol.messages.metadata import MetadataResponsePartition
from tests.zookeeper_process import ZooKeeperEnsemble

BROKERS = 3
SESSION_MS = 6_000
TICK_MS = 500
READY_S_MAX = 120
POLL_S = 0.005


class ClusterProcess(BrokerProcess):
    """Brokers by their ids; the first one's port stands for all."""

    def __init__(self, *, started: bool = True) -> None:
        super().__init__(started=False)
        self.brokers: dict[int, BrokerProcess] = {}
        self._is_begun = started

    def make_brokers(self) -> dict[int, BrokerProcess]:
        raise NotImplementedError

    def __enter__(self) -> ClusterProcess:
        try:
            self.brokers = self.make_brokers()
            for broker in self.brokers.values():
                broker.prepare()
            if self._is_begun:
                self.start()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None:
            for broker in self.brokers.values():
                print(f"{self.name} said at last:\n{broker.said()}", flush=True)
        self._remove()

    def _remove(self) -> None:
        for broker in self.brokers.values():
            broker._remove()
        super()._remove()

    def start(self) -> float:
        started_s = [broker.spawn() for broker in self.brokers.values()]
        for broker in self.brokers.values():
            broker.wait(started_s[0])
        first = next(iter(self.brokers.values()))
        self.port = first.port
        self.bootstrap = ",".join(broker.bootstrap for broker in self.brokers.values())
        deadline = time.monotonic() + READY_S_MAX
        while any(len(_metadata(broker.port)) < BROKERS for broker in self.brokers.values()):
            assert time.monotonic() < deadline, "the brokers do not find each other"
            time.sleep(POLL_S)
        return time.perf_counter() - started_s[0]

    def controller_id(self) -> int:
        """The active controller."""
        with Wire(self.port) as wire:
            return wire.metadata().controller_id

    def cpu_s(self) -> float:
        return sum(broker.cpu_s() for broker in self.brokers.values())

    def resident_bytes(self) -> int:
        return sum(broker.resident_bytes() for broker in self.brokers.values())

    def new_topic(self, partitions: int = 1) -> str:
        name = f"bench-{next(self._topic_numbers)}"
        with Wire(self.brokers[self.controller_id()].port) as wire:
            wire.create_topics([name], partitions, BROKERS)
        self.await_in_sync(name, partitions)
        return name

    def await_in_sync(self, topic: str, partitions: int = 1, timeout_s: float = READY_S_MAX) -> None:
        """Until every replica of every partition is in sync, as the first broker that is alive knows it."""
        port = next(broker.port for broker in self.brokers.values() if broker.is_running)
        deadline = time.monotonic() + timeout_s
        with Wire(port) as wire:
            while True:
                known = partitions_of(wire, topic)
                if len(known) == partitions and all(len(one.isr_nodes) == BROKERS for one in known):
                    return
                assert time.monotonic() < deadline, f"{topic} is not in sync after {timeout_s} s"
                time.sleep(POLL_S)


def partitions_of(wire: Wire, topic: str) -> list[MetadataResponsePartition]:
    found = [one for one in wire.metadata().topics if one.name == topic]
    return found[0].partitions if found else []


def _metadata(port: int) -> list[object]:
    with Wire(port) as wire:
        return list(wire.metadata().brokers)


class MoldauCluster(ClusterProcess):
    name: ClassVar[str] = "moldau"
    warm_up_s: ClassVar[float] = 2.0

    def make_brokers(self) -> dict[int, BrokerProcess]:
        folder = Path(tempfile.mkdtemp(prefix="zookeeper-", dir=self.folder.resolve()))
        self._zookeeper = ZooKeeperEnsemble(folder, 1, TICK_MS)
        self._zookeeper.start(0)
        common = {"zookeeper.connect": self._zookeeper.connect, "zookeeper.session.timeout.ms": SESSION_MS}
        return {
            broker_id: MoldauServer(started=False, settings={**common, "broker.id": broker_id})
            for broker_id in range(BROKERS)
        }

    def _remove(self) -> None:
        if hasattr(self, "_zookeeper"):
            self._zookeeper.close()
        super()._remove()


class KafkaCluster(ClusterProcess):
    name: ClassVar[str] = "kafka"
    warm_up_s: ClassVar[float] = 20.0

    def make_brokers(self) -> dict[int, BrokerProcess]:
        quorum = Quorum(BROKERS, {"broker.session.timeout.ms": SESSION_MS})
        return {node: KafkaServer(started=False, node_id=node, quorum=quorum) for node in range(1, BROKERS + 1)}

    def controller_id(self) -> int:
        """The leader of the quorum; brokers name anyone in Metadata."""
        topic = RequestTopicData(topic_name="__cluster_metadata", partitions=[RequestPartitionData()])
        with Wire(self.port) as wire:
            answer = wire.ask(DescribeQuorumRequest(topics=[topic]), DescribeQuorumResponse, 0)
        return answer.topics[0].partitions[0].leader_id
