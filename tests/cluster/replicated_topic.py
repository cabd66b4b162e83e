"""A topic with replicas on brokers of one test process: what to do to it, and what became of its logs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from moldau.records.builder import build_batch
from moldau.records.record import Record
from moldau.replication.replicas import LogPartition
from moldau.storage.log import Log
from moldau.testing.local_cluster import LocalCluster

Seen = TypeVar("Seen")

PRODUCE_VERSION = 12
WAIT_S_MAX = 20.0
ALL = -1
TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4


def eventually(holds: Callable[[], bool]) -> None:
    """Wait until it holds, or fail."""
    ends_at = time.monotonic() + WAIT_S_MAX
    while not holds():
        assert time.monotonic() < ends_at, "it does not become true"
        time.sleep(0.01)


def set_configs(cluster: LocalCluster, kind: int, name: str, **values: str) -> None:
    """Change dynamic settings of a topic, of a broker, or of all brokers (no name); `_` stands for a dot."""
    configs = [AlterableConfig(name=key.replace("_", "."), value=value) for key, value in values.items()]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    answer = cluster.request(IncrementalAlterConfigsRequest(resources=[resource]), broker_id=cluster.controller_id)
    assert not answer.responses[0].error_code, answer


@dataclass
class ReplicatedTopic:
    """Partition 0 of a topic."""

    cluster: LocalCluster
    name: str

    def partition(self, broker_id: int, look: Callable[[LogPartition], Seen]) -> Seen:
        """What there is to see of it on a broker, which may not have heard of it yet."""
        eventually(lambda: self.cluster.run_in_loop(lambda node: (self.name, 0) in node.replicas.partitions, broker_id))
        return self.cluster.run_in_loop(lambda node: look(node.replicas.partitions[self.name, 0]), broker_id)

    def log(self, broker_id: int, look: Callable[[Log], Seen]) -> Seen:
        return self.partition(broker_id, lambda partition: look(partition.require_log(only_leader=False)))

    @property
    def leader(self) -> int:
        """As the brokers that run know it; waits until there is one."""
        found: list[int] = []

        def is_known() -> bool:
            request = MetadataRequest(topics=[MetadataRequestTopic(name=self.name)])
            answer = self.cluster.request(request, broker_id=self.cluster.running[0])
            partition = answer.topics[0].partitions[0]
            found[:] = [partition.leader_id]
            return partition.leader_id in self.cluster.running and self.partition(
                partition.leader_id, lambda one: one.is_leader
            )

        eventually(is_known)
        return found[0]

    @property
    def followers(self) -> list[int]:
        leader = self.leader
        return [broker_id for broker_id in self.cluster.running if broker_id != leader]

    def isr(self) -> set[int]:
        return self.partition(self.leader, lambda one: set(one.isr.committed))

    def produce(self, *values: bytes, acks: int = ALL, timeout_ms: int = 10_000) -> ErrorCode:
        """One batch to the leader, whoever that is."""
        batch = bytes(build_batch([Record(n, 1_700_000_000_000, None, value) for n, value in enumerate(values)]))
        data = TopicProduceData(name=self.name, partition_data=[PartitionProduceData(index=0, records=batch)])
        request = ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=[data])
        answer = self.cluster.request(request, PRODUCE_VERSION, broker_id=self.leader)
        return ErrorCode(answer.responses[0].partition_responses[0].error_code)

    def end_offset(self, broker_id: int) -> int:
        return self.log(broker_id, lambda log: log.log_end_offset)

    def high_watermark(self, broker_id: int) -> int:
        return self.log(broker_id, lambda log: log.high_watermark)

    def log_bytes(self, broker_id: int) -> bytes:
        """All batches of a replica, as they are in its files."""
        directory = self.cluster.data_of(broker_id) / f"{self.name}-0"
        return b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))

    def await_identical(self) -> None:
        """Wait until the replicas on all running brokers end where the leader does, and compare them byte by byte."""
        leader = self.leader
        eventually(lambda: len({self.end_offset(broker_id) for broker_id in self.cluster.running}) == 1)
        expected = self.log_bytes(leader)
        for broker_id in self.cluster.running:
            assert self.log_bytes(broker_id) == expected, f"broker {broker_id} differs from leader {leader}"
