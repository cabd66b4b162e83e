"""The order in which Java's hash maps and sets give what is in them.

Where an assignor of Java's goes through a hash map, the order of that map shows in its result: which of two members
that both have too much keeps one more, for instance. A group whose leader changes between clients keeps its partitions
only if all clients go in the same order.

A table has 16 buckets and doubles when it is more than three quarters full; within a bucket the order of insertion
stays. (Java turns buckets of more than eight entries into trees, and keeps the order of insertion there as well.)
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from moldau.base.hashing import java_hash
from moldau.clients.records import TopicPartition

Item = TypeVar("Item")

_MASK = 0xFFFFFFFF
_BUCKETS_MIN = 16


def strings_in_java_order(strings: Collection[str]) -> list[str]:
    """Strings as a HashMap or HashSet has them into which they were put in this order."""
    return _ordered(strings, java_hash)


def first_partition_in_java_order(partitions: Collection[TopicPartition]) -> TopicPartition:
    """What the iterator of a HashSet gives first."""
    return _ordered(partitions, _partition_hash)[0]


def _partition_hash(partition: TopicPartition) -> int:
    return 31 * (31 + partition.partition) + java_hash(partition.topic)


def _ordered(items: Collection[Item], hash_of: Callable[[Item], int]) -> list[Item]:
    buckets = _BUCKETS_MIN
    while len(items) * 4 > buckets * 3:
        buckets *= 2

    def bucket(item: Item) -> int:
        value = hash_of(item) & _MASK
        return (value ^ value >> 16) & (buckets - 1)

    return sorted(items, key=bucket)
