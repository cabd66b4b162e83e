"""What members of a sticky group owned before, and who of two claimants is right.

A member that was out of touch may claim a partition that has been given away since. The one of the later generation
is right. Of the same generation neither is, and the partition goes back into the pool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from moldau.clients.consumer.assignors.assignor import NO_GENERATION, GroupMember, PartitionRacks
from moldau.clients.records import TopicPartition


class Claim(NamedTuple):
    """What a member says that it owned, and in which generation, if it said so."""

    partitions: list[TopicPartition]
    generation_id: int | None


ClaimOf: TypeAlias = Callable[[GroupMember], Claim]


class Ownership(NamedTuple):
    """Who owned what of the partitions that exist, as far as it is undisputed."""

    owned: dict[str, list[TopicPartition]]
    disputed: set[TopicPartition]
    generation_id: int
    same_topics: bool


def settle_ownership(
    partitions: PartitionRacks, members: Mapping[str, GroupMember], claim_of: ClaimOf, generation_id: int
) -> Ownership:
    """Go through the members in their order; `generation_id` is the latest that was seen before."""
    owned: dict[str, list[TopicPartition]] = {}
    owners: dict[TopicPartition, str] = {}
    disputed: set[TopicPartition] = set()
    subscribed: set[str] = set()
    same_topics = True
    for member_id, member in members.items():
        if not subscribed:
            subscribed = set(member.topics)
        elif len(member.topics) != len(subscribed) or not subscribed.issuperset(member.topics):
            same_topics = False
        claim = claim_of(member)
        generation = NO_GENERATION if claim.generation_id is None else claim.generation_id
        generation_id = max(generation_id, generation)
        its = owned[member_id] = []
        for partition in claim.partitions:
            if partition.partition >= len(partitions.get(partition.topic, ())):
                continue
            other = owners.get(partition)
            if other is None:
                its.append(partition)
                owners[partition] = member_id
                continue
            # The subscription's own generation is what Java compares with, also where a claim has another.
            other_generation = members[other].generation_id
            if generation < other_generation:
                continue
            if partition in owned[other]:
                owned[other].remove(partition)
            owners[partition] = member_id
            if generation == other_generation:
                disputed.add(partition)
            else:
                its.append(partition)
    return Ownership(owned, disputed, generation_id, same_topics)
