"""Which partitions moved from whom to whom in one assignment, so that none moves in a circle.

If a partition of a topic went from A to B and now one of the same topic is to go from B to A, the first one goes back
instead: the sizes come out the same, and one member less changes.
"""

from __future__ import annotations

from moldau.clients.consumer.assignors.java_order import first_partition_in_java_order
from moldau.clients.records import TopicPartition


class Movements:
    """Each moved partition, with the member it was taken from first and the one that has it now."""

    def __init__(self) -> None:
        self._moved: dict[TopicPartition, tuple[str, str]] = {}
        self._by_topic: dict[str, dict[tuple[str, str], dict[TopicPartition, None]]] = {}

    def add(self, partition: TopicPartition, source: str, target: str) -> None:
        pairs = self._by_topic.setdefault(partition.topic, {})
        if pair := self._moved.pop(partition, None):
            assert pair[1] == source
            del pairs[pair][partition]
            if not pairs[pair]:
                del pairs[pair]
            source = pair[0]
        if source != target:
            self._moved[partition] = source, target
            pairs.setdefault((source, target), {})[partition] = None

    def instead_of(self, partition: TopicPartition, source: str, target: str) -> TopicPartition:
        """The partition to move: this one, or one of its topic that came the other way."""
        if partition in self._moved:
            source = self._moved[partition][0]
        back = self._by_topic.get(partition.topic, {}).get((target, source))
        return first_partition_in_java_order(back) if back else partition
