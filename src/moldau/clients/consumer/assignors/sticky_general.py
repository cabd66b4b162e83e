"""Sticky assignment where members subscribe different topics: a search for balance from what everybody had.

1. Members keep what they owned and still subscribe. 2. What is left goes, partition by partition, to the subscriber
with the fewest. 3. Partitions move from members with many to members with few, until no single move helps any more;
one that came to its member from a lagging one goes back there first. A result that is no better balanced than what it
began with is thrown away.

Order is what makes the result one of many: topics with few subscribers first, members with few partitions first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from moldau.clients.consumer.assignors.assignor import NO_GENERATION, Assignment, GroupMember, PartitionRacks
from moldau.clients.consumer.assignors.movements import Movements
from moldau.clients.consumer.assignors.racks import Racks
from moldau.clients.consumer.assignors.sticky_members import ClaimOf, Ownership
from moldau.clients.records import TopicPartition


class GeneralAssignment:
    """One run."""

    def __init__(
        self,
        partitions: PartitionRacks,
        members: Mapping[str, GroupMember],
        ownership: Ownership,
        claim_of: ClaimOf,
        racks: Racks,
    ) -> None:
        self._partitions = partitions
        self._racks = racks
        self._topics = {
            member_id: {topic for topic in member.topics if topic in partitions}
            for member_id, member in members.items()
        }
        self._subscribers: dict[str, list[str]] = {topic: [] for topic in partitions}
        for member_id, topics in self._topics.items():
            for topic in topics:
                self._subscribers[topic].append(member_id)
        self._assignment: Assignment = {member_id: [] for member_id in members}
        self._owners: dict[TopicPartition, str] = {}
        self._before = _earlier_owners(members, claim_of, ownership.generation_id)
        self._movements = Movements()
        order = sorted(partitions, key=lambda topic: (len(self._subscribers[topic]), topic))
        self._all = [TopicPartition(topic, number) for topic in order for number in range(len(partitions[topic]))]
        self._revoking = False
        for member_id, owned in ownership.owned.items():
            self._keep(member_id, owned)

    def run(self) -> Assignment:
        left = [partition for partition in self._all if partition not in self._owners]
        initializing = not any(self._assignment.values())
        if self._racks:
            rest = [partition for partition in left if not self._assign_one(partition, self._racks)]
        else:
            rest = left
        for partition in rest:
            self._assign_one(partition, None)
        movable = [partition for partition in self._all if len(self._subscribers[partition.topic]) > 1]
        fixed = {
            member_id: self._assignment.pop(member_id) for member_id in self._topics if not self._may_change(member_id)
        }
        self._improve([each for each in left if len(self._subscribers[each.topic]) > 1], movable, initializing)
        return self._assignment | fixed

    def _keep(self, member_id: str, owned: Sequence[TopicPartition]) -> None:
        for partition in owned:
            if partition.topic not in self._topics[member_id] or self._racks.mismatch(member_id, partition):
                self._revoking = True
            else:
                self._assignment[member_id].append(partition)
                self._owners[partition] = member_id

    def _fewest_first(self) -> list[str]:
        return sorted(self._assignment, key=lambda member_id: (len(self._assignment[member_id]), member_id))

    def _assign_one(self, partition: TopicPartition, racks: Racks | None) -> bool:
        fitting = [
            (len(self._assignment[member_id]), member_id)
            for member_id in self._subscribers[partition.topic]
            if racks is None or not racks.mismatch(member_id, partition)
        ]
        if not fitting:
            return False
        _, member_id = min(fitting)
        self._assignment[member_id].append(partition)
        self._owners[partition] = member_id
        return True

    def _may_change(self, member_id: str) -> bool:
        """Whether a member may get more, or has something that another could have."""
        its = self._assignment[member_id]
        most = sum(len(self._partitions[topic]) for topic in self._topics[member_id])
        return len(its) < most or any(len(self._subscribers[each.topic]) > 1 for each in its)

    # -- moving

    def _improve(self, left: list[TopicPartition], movable: list[TopicPartition], initializing: bool) -> None:
        before = {member_id: list(its) for member_id, its in self._assignment.items()}
        if not self._revoking:
            self._move_until_balanced(left)
        moved = self._move_until_balanced(movable)
        if not initializing and moved and _imbalance(self._assignment) >= _imbalance(before):
            self._assignment = before

    def _balanced(self) -> bool:
        """Whether nobody could take a partition from a member that has at least two more."""
        order = self._fewest_first()
        if not order:
            return True
        sizes = {member_id: len(its) for member_id, its in self._assignment.items()}
        if sizes[order[0]] >= sizes[order[-1]] - 1:
            return True
        # The fullest owner of each topic's partitions is all that a member with fewer has to be compared with.
        fullest: dict[str, int] = {}
        for member_id, its in self._assignment.items():
            for topic in {partition.topic for partition in its}:
                fullest[topic] = max(fullest.get(topic, 0), sizes[member_id])
        return not any(
            sizes[member_id] + 1 < fullest.get(topic, 0) for member_id in order for topic in self._topics[member_id]
        )

    def _move_until_balanced(self, partitions: Sequence[TopicPartition]) -> bool:
        moved_any = False
        moved = True
        while moved and not self._balanced():
            moved = False
            for partition in partitions:
                if self._move(partition):
                    moved = moved_any = True
                    if self._balanced():
                        break
        return moved_any

    def _move(self, partition: TopicPartition) -> bool:
        size = len(self._assignment[self._owners[partition]])
        earlier = self._before.get(partition)
        if earlier in self._subscribers[partition.topic] and size > len(self._assignment[earlier]) + 1:
            self._reassign(partition, earlier)
            return True
        fewest, member_id = min((len(self._assignment[each]), each) for each in self._subscribers[partition.topic])
        if size > fewest + 1:
            self._reassign(partition, member_id)
            return True
        return False

    def _reassign(self, partition: TopicPartition, member_id: str) -> None:
        partition = self._movements.instead_of(partition, self._owners[partition], member_id)
        owner = self._owners[partition]
        self._movements.add(partition, owner, member_id)
        self._assignment[owner].remove(partition)
        self._assignment[member_id].append(partition)
        self._owners[partition] = member_id


def _earlier_owners(
    members: Mapping[str, GroupMember], claim_of: ClaimOf, generation_id: int
) -> dict[TopicPartition, str]:
    """Who had a partition last, of the members that missed the latest generation."""
    earlier: dict[TopicPartition, tuple[int, str]] = {}
    for member_id, member in members.items():
        claim = claim_of(member)
        generation = NO_GENERATION if claim.generation_id is None else claim.generation_id
        if generation < generation_id:
            for partition in claim.partitions:
                if partition not in earlier or earlier[partition][0] < generation:
                    earlier[partition] = generation, member_id
    return {partition: member_id for partition, (_, member_id) in earlier.items()}


def _imbalance(assignment: Assignment) -> int:
    """The sum of the differences in size of all pairs of members."""
    sizes = sorted(map(len, assignment.values()))
    return sum(size * (2 * index - len(sizes) + 1) for index, size in enumerate(sizes))
