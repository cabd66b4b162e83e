"""Records for tests of consumers, written by plain requests: no client is part of what is tested but the consumer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import count

from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.clients.consumer.plain import Consumer
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from moldau.records.builder import build_batch
from moldau.testing.local_cluster import LocalCluster

PATIENCE_S = 20.0
_groups = count(1)


def new_group() -> str:
    return f"group-{next(_groups)}"


def produce(
    cluster: LocalCluster, topic: str, values: Iterable[bytes], partition: int = 0, timestamp: int = 1_000
) -> None:
    """Append a batch; record n of it has key n and the time `timestamp` + n."""
    records = [(index, timestamp + index, b"%d" % index, value, ()) for index, value in enumerate(values)]
    data = PartitionProduceData(index=partition, records=build_batch(records))
    request = ProduceRequest(
        acks=-1, timeout_ms=10_000, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
    )
    answer = cluster.request(request, 9)
    assert answer.responses[0].partition_responses[0].error_code == 0


def take(consumer: Consumer, count_min: int, patience_s: float = PATIENCE_S) -> list[ConsumerRecord]:
    """Poll until so many records have come."""
    records: list[ConsumerRecord] = []
    deadline = time.monotonic() + patience_s
    while len(records) < count_min:
        assert time.monotonic() < deadline, f"{len(records)} records of {count_min}"
        records += consumer.poll(0.5)
    return records


def poll_until(consumers: Sequence[Consumer], condition: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    """Poll all of them in turn until something is true."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        for consumer in consumers:
            consumer.poll(0.02)
