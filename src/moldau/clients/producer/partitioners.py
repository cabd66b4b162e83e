"""Which partition a record goes to.

A record with a key goes where the hash of its key says, as with the Java client, so that one key stays in one
partition. A record without sticks to a partition until about `batch.size` bytes have gone there (KIP-480), and the next
one is drawn so that partitions whose records wait longest get least (KIP-794). A partition that the caller names is not
questioned.

A partitioner of the user's is a callable `(topic, key_bytes, value_bytes, partition count) -> partition`, or an object
with Kafka's `partition(topic, key, key_bytes, value, value_bytes, cluster)`; it may ask `cluster.partitions(topic)` and
`cluster.available_partitions(topic)`.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, count
from typing import Any, Final, Protocol

from moldau.base.hashing import murmur2
from moldau.clients.network.metadata import ClusterMetadata

_INT_MAX: Final = 0x7FFFFFFF

# Keys come again and again, and a hash in Python costs more than all the rest of a send.
hash_of_key: Final = lru_cache(maxsize=1 << 15)(murmur2)

ALIASES: Final[Mapping[str, str]] = {
    "org.apache.kafka.clients.producer.RoundRobinPartitioner": f"{__name__}.RoundRobinPartitioner",
    "org.apache.kafka.clients.producer.UniformStickyPartitioner": f"{__name__}.UniformStickyPartitioner",
    "org.apache.kafka.clients.producer.internals.DefaultPartitioner": f"{__name__}.DefaultPartitioner",
}


class Partitioner(Protocol):
    """A partitioner in Kafka's shape."""

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterMetadata,
    ) -> int: ...


class DefaultPartitioner:
    """A name for what happens without any partitioner."""


class UniformStickyPartitioner:
    """A name for what happens without any partitioner if keys are ignored."""


class RoundRobinPartitioner:
    """One partition after the other, whatever the key; partitions without a leader are left out."""

    def __init__(self) -> None:
        self._counters: dict[str, count[int]] = {}

    def partition(
        self,
        topic: str,
        _key: Any,
        _key_bytes: bytes | None,
        _value: Any,
        _value_bytes: bytes | None,
        cluster: ClusterMetadata,
    ) -> int:
        number = next(self._counters.setdefault(topic, count()))
        available = cluster.available_partitions(topic)
        if available:
            return available[number % len(available)].partition
        return number % max(1, len(cluster.partitions(topic)))


def as_partitioner(plugin: object) -> Partitioner:
    """A plain callable in Kafka's shape; what has that shape already, as it is."""
    if hasattr(plugin, "partition"):
        return plugin
    assert callable(plugin)
    return _Called(plugin)


class _Called:
    def __init__(self, function: Callable[[str, bytes | None, bytes | None, int], int]) -> None:
        self._function = function

    def partition(
        self,
        topic: str,
        _key: Any,
        key_bytes: bytes | None,
        _value: Any,
        value_bytes: bytes | None,
        cluster: ClusterMetadata,
    ) -> int:
        return self._function(topic, key_bytes, value_bytes, len(cluster.partitions(topic)))


class StickyPartition:
    """The partition that records without key go to for now."""

    __slots__ = ("_random", "left_bytes", "number")

    def __init__(self, drawn_from: random.Random) -> None:
        self._random = drawn_from
        self.number = -1
        self.left_bytes = 0

    def draw(self, waiting: Sequence[tuple[int, int]], stick_bytes: int) -> int:
        """Draw one of (partition, how many of its batches wait), the fuller the less likely."""
        if len(waiting) == 1:
            self.number = waiting[0][0]
        else:
            longest = max(length for _, length in waiting) + 1
            ends = list(accumulate(longest - length for _, length in waiting))
            self.number = waiting[bisect_right(ends, self._random.randrange(ends[-1]))][0]
        self.left_bytes = stick_bytes
        return self.number


def partition_of_key(key: bytes, partitions: int) -> int:
    """As the Java client has it."""
    return (hash_of_key(key) & _INT_MAX) % partitions
