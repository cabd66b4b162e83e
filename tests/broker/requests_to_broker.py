"""Requests as tests write them: short, and with the answer for the one partition that they are about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from moldau.records.builder import build_batch
from moldau.records.record import Record
from moldau.testing.local_cluster import LocalCluster

NOW_MS = 1_700_000_000_000
PRODUCE_BY_ID = 13
FETCH_BY_ID = 13


def records(*values: bytes, key: bytes | None = b"k", timestamp: int = NOW_MS, **more: Any) -> bytes:
    """One batch of these values."""
    return bytes(build_batch([Record(n, timestamp, key, value) for n, value in enumerate(values)], **more))


@dataclass
class Broker:
    """A broker to ask."""

    cluster: LocalCluster

    def topic_id(self, topic: str) -> bytes:
        answer = self.cluster.request(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]))
        found: bytes = answer.topics[0].topic_id
        return found

    def produce(
        self, topic: str, data: bytes | None, version: int = 12, acks: int = -1, partition: int = 0, **more: Any
    ) -> PartitionProduceResponse:
        topic_id = self.topic_id(topic) if version >= PRODUCE_BY_ID else bytes(16)
        one = PartitionProduceData(index=partition, records=data)
        request = ProduceRequest(
            acks=acks,
            timeout_ms=more.pop("timeout_ms", 5_000),
            topic_data=[TopicProduceData(name=topic, topic_id=topic_id, partition_data=[one])],
            **more,
        )
        answer = self.cluster.request(request, version)
        outcome: PartitionProduceResponse = answer.responses[0].partition_responses[0]
        return outcome

    def fetch(self, topic: str, offset: int = 0, version: int = 12, partition: int = 0, **more: Any) -> PartitionData:
        topic_id = self.topic_id(topic) if version >= FETCH_BY_ID else bytes(16)
        one = FetchPartition(
            partition=partition,
            fetch_offset=offset,
            partition_max_bytes=more.pop("partition_max_bytes", 1 << 20),
            current_leader_epoch=more.pop("current_leader_epoch", -1),
        )
        request = FetchRequest(
            topics=[FetchTopic(topic=topic, topic_id=topic_id, partitions=[one])],
            max_bytes=more.pop("max_bytes", 1 << 25),
            **more,
        )
        answer = self.cluster.request(request, version)
        outcome: PartitionData = answer.responses[0].partitions[0]
        return outcome

    def offset(
        self, topic: str, timestamp: int, version: int = 7, partition: int = 0, **more: Any
    ) -> ListOffsetsPartitionResponse:
        one = ListOffsetsPartition(
            partition_index=partition,
            timestamp=timestamp,
            current_leader_epoch=more.pop("current_leader_epoch", -1),
            max_num_offsets=more.pop("max_num_offsets", 1),
        )
        request = ListOffsetsRequest(
            replica_id=more.pop("replica_id", -1), topics=[ListOffsetsTopic(name=topic, partitions=[one])], **more
        )
        answer = self.cluster.request(request, version)
        outcome: ListOffsetsPartitionResponse = answer.topics[0].partitions[0]
        return outcome
