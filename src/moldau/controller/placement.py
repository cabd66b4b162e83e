"""Which brokers hold the replicas of new partitions.

Aims, in Kafka's order: leaders spread evenly over the brokers; the other replicas of the partitions that one broker
leads spread over all others; and each replica of a partition in a rack of its own as far as there are racks.

Brokers stand in a ring. The first replica of partition p is at position p + start. The others follow at a distance,
the shift, which grows by one each time the first replicas have gone around the ring, so that partitions with the same
leader have different followers. With racks the ring alternates between them (0 of rack a, 3 of rack b, 6 of rack c,
1 of rack a …), and a broker is passed over while its rack has a replica and another rack has none.

Given start and shift, the result is determined; drawing them is the caller's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError

Assignment = dict[int, tuple[int, ...]]


def assign_replicas(
    racks: Mapping[int, str | None],
    partitions: int,
    replication_factor: int,
    *,
    start: int,
    shift: int,
    first_partition: int = 0,
) -> Assignment:
    """The replicas of `partitions` new partitions; `racks` has the rack of each live broker."""
    check_counts(len(racks), partitions, replication_factor)
    with_rack = [broker for broker, rack in racks.items() if rack is not None]
    if with_rack and len(with_rack) < len(racks):
        raise ApiError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Not all brokers have rack information: only {', '.join(map(str, sorted(with_rack)))} have broker.rack. "
            "Set it on all brokers or on none, or give the replicas yourself.",
        )
    ring = rack_alternated(racks) if with_rack else sorted(racks)
    assignment: Assignment = {}
    for partition in range(first_partition, first_partition + partitions):
        if partition > 0 and partition % len(ring) == 0:
            shift += 1
        first = (partition + start) % len(ring)
        if with_rack:
            assignment[partition] = _across_racks(ring, racks, replication_factor, first, shift)
        else:
            others = (_follower(first, shift, number, len(ring)) for number in range(replication_factor - 1))
            assignment[partition] = (ring[first], *(ring[position] for position in others))
    return assignment


def check_counts(brokers: int, partitions: int, replication_factor: int) -> None:
    if partitions <= 0:
        raise ApiError(ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0.")
    if replication_factor <= 0:
        raise ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0.")
    if replication_factor > brokers:
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Replication factor: {replication_factor} larger than available brokers: {brokers}.",
        )


def rack_alternated(racks: Mapping[int, str | None]) -> list[int]:
    """The brokers, racks taking turns: the first broker of each, the second of each, and so on."""
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(racks):
        by_rack.setdefault(racks[broker] or "", []).append(broker)
    rows = [by_rack[rack] for rack in sorted(by_rack)]
    longest = max(map(len, rows))
    return [row[turn] for turn in range(longest) for row in rows if turn < len(row)]


def _follower(first: int, shift: int, number: int, ring_size: int) -> int:
    return (first + 1 + (shift + number) % (ring_size - 1)) % ring_size


def _across_racks(
    ring: Sequence[int], racks: Mapping[int, str | None], replication_factor: int, first: int, shift: int
) -> tuple[int, ...]:
    rack_count = len(set(racks.values()))
    replicas = [ring[first]]
    used_racks = {racks[ring[first]]}
    numbers = count()
    while len(replicas) < replication_factor:
        broker = ring[_follower(first, shift * rack_count, next(numbers), len(ring))]
        if broker not in replicas and (racks[broker] not in used_racks or len(used_racks) == rack_count):
            replicas.append(broker)
            used_racks.add(racks[broker])
    return tuple(replicas)
