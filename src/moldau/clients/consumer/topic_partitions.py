"""Partitions grouped by topic, as requests have them."""

from __future__ import annotations

from collections.abc import Iterable

from moldau.clients.records import TopicPartition


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """The numbers of the partitions of each topic, topics in the order in which they come first."""
    grouped: dict[str, list[int]] = {}
    for topic, number in partitions:
        grouped.setdefault(topic, []).append(number)
    return grouped
