"""What `kafka-verifiable-consumer` tells: rebalances, what was read, what was committed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from moldau.base.errors import MoldauError
from moldau.cli.kafka.verifiable_events import tell
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.clients.consumer.listener import RebalanceListener
from moldau.clients.consumer.plain import Consumer
from moldau.clients.records import OffsetAndMetadata, TopicPartition


class Rebalances(RebalanceListener):
    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        tell("partitions_revoked", partitions=_listed(partitions))

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        tell("partitions_assigned", partitions=_listed(partitions))


def _listed(partitions: Sequence[TopicPartition]) -> list[dict[str, object]]:
    return [{"topic": topic, "partition": number} for topic, number in sorted(partitions)]


def summaries(records: Sequence[ConsumerRecord]) -> list[dict[str, object]]:
    """How many records of each partition there are, from which offset to which."""
    found: dict[TopicPartition, list[int]] = {}
    for each in records:
        found.setdefault(TopicPartition(each.topic, each.partition), []).append(each.offset)
    return [
        {
            "topic": topic,
            "partition": number,
            "count": len(offsets),
            "minOffset": min(offsets),
            "maxOffset": max(offsets),
        }
        for (topic, number), offsets in found.items()
    ]


def told_commit(consumer: Consumer, records: Sequence[ConsumerRecord], shown: Callable[[BaseException], str]) -> None:
    """Commit what was read, and tell how that went."""
    offsets = {TopicPartition(each.topic, each.partition): OffsetAndMetadata(each.offset + 1) for each in records}
    listed = [{"topic": topic, "partition": number, "offset": each.offset} for (topic, number), each in offsets.items()]
    try:
        consumer.commit(offsets)
    except MoldauError as error:
        tell("offsets_committed", offsets=listed, success=False, error=shown(error))
    else:
        tell("offsets_committed", offsets=listed, success=True)
