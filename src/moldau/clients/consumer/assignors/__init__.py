"""Who reads which partitions: the leader of a group decides, by the assignor that all of its members know.

    range               per topic, neighbouring partitions; partitions of the same number in topics go together
    roundrobin          all partitions of all topics dealt in turn
    sticky              balanced, and everybody keeps what they had if that allows it
    cooperative-sticky  the same, and nobody gets a partition before its old owner has given it up (KIP-429)

Nouns: `Assignor`, `GroupMember` (what a member says about itself), `PartitionRacks` (topics, their partitions and where
the replicas are).
Invariants: every partition of a topic that somebody subscribes goes to exactly one of its subscribers, but for those
that a cooperative rebalance has yet to take away; results are those of Java's assignors, so that any member of a
mixed group may lead it.
May import: `clients.records`, `clients.consumer.topic_partitions`, `protocol`, `base`.
"""

from __future__ import annotations

from moldau.clients.consumer.assignors.assignor import Assignor, GroupMember, PartitionRacks
from moldau.clients.consumer.assignors.cooperative_sticky import CooperativeStickyAssignor
from moldau.clients.consumer.assignors.range import RangeAssignor
from moldau.clients.consumer.assignors.round_robin import RoundRobinAssignor
from moldau.clients.consumer.assignors.sticky import StickyAssignor

ASSIGNORS: dict[str, type[Assignor]] = {
    assignor.name: assignor
    for assignor in (RangeAssignor, RoundRobinAssignor, StickyAssignor, CooperativeStickyAssignor)
}

__all__ = [
    "ASSIGNORS",
    "Assignor",
    "CooperativeStickyAssignor",
    "GroupMember",
    "PartitionRacks",
    "RangeAssignor",
    "RoundRobinAssignor",
    "StickyAssignor",
]
