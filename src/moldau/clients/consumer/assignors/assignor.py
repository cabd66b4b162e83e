"""What an assignor is given and what it gives; a user's own is a subclass that is named by its dotted path.

An assignor lives as long as its consumer: it hears each assignment, and may put what it remembers of it into the
subscription with which its member joins again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from moldau.clients.records import TopicPartition

NO_GENERATION = -1

# Topic to partitions in their order, each with the racks of its replicas.
PartitionRacks: TypeAlias = Mapping[str, Sequence[frozenset[str]]]
Assignment: TypeAlias = dict[str, list[TopicPartition]]


@dataclass(frozen=True, slots=True)
class GroupMember:
    """What a member said about itself when it joined."""

    topics: Sequence[str]
    user_data: bytes | None = None
    owned_partitions: Sequence[TopicPartition] = ()
    generation_id: int = NO_GENERATION
    rack_id: str | None = None
    group_instance_id: str | None = None


class Assignor(ABC):
    """A strategy that members of a group agree on by its name."""

    name: ClassVar[str]
    cooperative: ClassVar[bool] = False
    """Whether members keep their partitions during a rebalance, and revoke only those that they lose."""

    @abstractmethod
    def assign(self, partitions: PartitionRacks, members: Mapping[str, GroupMember]) -> Assignment:
        """Divide the partitions of all topics that exist and that a member subscribes; by member id."""

    def user_data(self) -> bytes | None:
        """What goes with this member's subscription."""
        return None

    def on_assignment(  # noqa: B027 - for those who care
        self, partitions: Sequence[TopicPartition], generation_id: int
    ) -> None:
        """This member's part of the new generation."""


def in_member_order(members: Mapping[str, GroupMember]) -> list[str]:
    """Member ids: static members first, by their instance ids, since those stay when member ids change (KIP-345)."""
    return sorted(members, key=lambda member_id: _rank(member_id, members[member_id]))


def _rank(member_id: str, member: GroupMember) -> tuple[int, str]:
    return (1, member_id) if member.group_instance_id is None else (0, member.group_instance_id)


def racks_matter(consumer_racks: Set[str], partition_racks: Sequence[frozenset[str]]) -> bool:
    """Whether an assignment can do better by looking at racks: not if every partition is in each of them (KIP-881)."""
    all_racks = frozenset().union(*partition_racks)
    return not consumer_racks.isdisjoint(all_racks) and any(racks != all_racks for racks in partition_racks)
