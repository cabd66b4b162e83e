"""What the replicas of partitions hold, batch by batch: their checksums have to be the same.

Each broker is asked as a consumer near it would ask (KIP-392), so that followers answer too, up to what is committed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime

from moldau.base.clock import SystemClock
from moldau.cli.kafka.connecting import Connection
from moldau.cli.kafka.failures import ToolFailed
from moldau.cli.kafka.topics import pattern_of
from moldau.clients.admin.operations import Operations, by_topic
from moldau.clients.admin.partitions import OffsetSpec, PartitionOperations
from moldau.clients.admin.topic_descriptions import TopicDescriptionOperations
from moldau.clients.admin.topics import TopicOperations
from moldau.clients.errors import check
from moldau.clients.records import TopicPartition
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from moldau.records.walk import batches

WAIT_MS = 500
IDLE_S = 0.2
FROM_FOLLOWERS = 11  # the first version that followers answer; topics have names in it

Batches = dict[int, tuple[int, int]]
"""Last offset and checksum of each batch, by its first offset."""


class FetchOperations(Operations):
    """Reads as a consumer does, from the broker that one names."""

    async def fetch(
        self, broker_id: int, offsets: Mapping[TopicPartition, int], fetch_bytes: int
    ) -> dict[TopicPartition, tuple[int, Batches]]:
        """The high watermark and the batches of each partition, as a broker has them."""
        topics = [
            FetchTopic(
                topic=topic,
                partitions=[
                    FetchPartition(
                        partition=number,
                        fetch_offset=offsets[TopicPartition(topic, number)],
                        partition_max_bytes=fetch_bytes,
                    )
                    for number in numbers
                ],
            )
            for topic, numbers in by_topic(offsets).items()
        ]
        request = FetchRequest(max_wait_ms=WAIT_MS, min_bytes=1, topics=topics)
        answer = await self._calls.call("comparing replicas", None).ask(request, broker_id, FROM_FOLLOWERS)
        found = {}
        for topic in answer.responses:
            for each in topic.partitions:
                partition = TopicPartition(topic.topic, each.partition_index)
                check(each.error_code, str(partition))
                read = {batch.base_offset: (batch.last_offset, batch.crc) for batch in batches(each.records or b"")}
                found[partition] = (each.high_watermark, read)
        return found


class Comparison:
    """Partitions with their replicas, and how far each has been compared."""

    def __init__(
        self, connection: Connection, replicas: Mapping[TopicPartition, tuple[int, ...]], fetch_bytes: int
    ) -> None:
        self.offsets: dict[TopicPartition, int] = {}
        self.lags: dict[TopicPartition, int] = {}
        self._fetching = connection.use(FetchOperations)
        self._replicas = replicas
        self._fetch_bytes = fetch_bytes

    async def round(self) -> list[str]:
        """Compare the next batches of all partitions; what is wrong with them."""
        brokers = sorted({broker for replicas in self._replicas.values() for broker in replicas})
        read = {}
        for broker in brokers:
            wanted = {each: self.offsets[each] for each, replicas in self._replicas.items() if broker in replicas}
            read[broker] = await self._fetching.fetch(broker, wanted, self._fetch_bytes)
        problems = []
        for partition, replicas in self._replicas.items():
            problems += self._compare(partition, {broker: read[broker][partition] for broker in replicas})
        return problems

    def _compare(self, partition: TopicPartition, read: Mapping[int, tuple[int, Batches]]) -> list[str]:
        start = self.offsets[partition]
        first, *others = sorted(read)
        problems = []
        for offset in sorted(set().union(*(held for _, held in read.values()))):
            expected = read[first][1].get(offset)
            if any(read[broker][1].get(offset) is None for broker in read) or expected is None:
                break  # somebody has not got that far yet
            problems += [
                f"partition {partition}: replica {first}'s batch at offset {offset} has checksum {expected[1]}, "
                f"replica {broker}'s has {read[broker][1][offset][1]}"
                for broker in others
                if read[broker][1][offset] != expected
            ]
            self.offsets[partition] = max(start, expected[0] + 1)
        self.lags[partition] = max(mark for mark, _ in read.values()) - self.offsets[partition]
        return problems

    def report(self) -> str:
        partition = max(self.lags, key=lambda each: self.lags[each])
        place = f"partition {partition} at offset {self.offsets[partition]} among {len(self.lags)} partitions"
        return f"max lag is {self.lags[partition]} for {place}"


async def comparison_of(connection: Connection, pattern: str, time: int, fetch_bytes: int) -> Comparison:
    """All partitions of topics, from the first record, the end, or a time on."""
    included = pattern_of(pattern)
    assert included is not None
    listed = await connection.use(TopicOperations).list_topics(list_internal=True)
    names = [name for name in listed if included.fullmatch(name)]
    described = await connection.use(TopicDescriptionOperations).describe_topics(names)
    replicas = {
        TopicPartition(each.name, info.partition): info.replicas
        for each in described.values()
        for info in each.partitions
    }
    if not replicas:
        raise ToolFailed(
            f"No topics found. {pattern}, if specified, is either filtering out all topics or there is no topic."
        )
    comparison = Comparison(connection, replicas, fetch_bytes)
    spec: OffsetSpec | int = OffsetSpec(time) if time < 0 else time
    found = await connection.use(PartitionOperations).list_offsets(dict.fromkeys(replicas, spec))
    comparison.offsets = {partition: max(each.offset, 0) for partition, each in found.items()}
    return comparison


async def compare_for_ever(connection: Connection, pattern: str, time: int, fetch_bytes: int, report_ms: int) -> None:
    comparison = await comparison_of(connection, pattern, time, fetch_bytes)
    _print("verification process is started.")
    clock = SystemClock()
    last_ms = clock.monotonic_ms()
    while True:
        for problem in await comparison.round():
            _print(problem)
        if clock.monotonic_ms() - last_ms >= report_ms:
            _print(comparison.report())
            last_ms = clock.monotonic_ms()
        await asyncio.sleep(IDLE_S)


def _print(text: str) -> None:
    moment = datetime.fromtimestamp(SystemClock().now_ms() / 1000)
    print(f"{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03d}: {text}", flush=True)
