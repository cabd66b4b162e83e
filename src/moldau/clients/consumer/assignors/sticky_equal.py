"""Sticky assignment where all members subscribe the same topics: the common case, and one that needs no search.

With n partitions for m members, everybody ends with n // m of them (the quota), and n % m members with one more. So
each keeps what it owned up to that, and what is left is dealt in turn, first to those below the quota. Who of several
members with too much keeps one more is a matter of order, which is Java's.
"""

from __future__ import annotations

from collections.abc import Sequence

from moldau.clients.consumer.assignors.assignor import Assignment, PartitionRacks
from moldau.clients.consumer.assignors.racks import Racks
from moldau.clients.consumer.assignors.sticky_members import Ownership
from moldau.clients.records import TopicPartition


class EqualAssignment:
    """One run. `transferring` are then the partitions that another member than the one they go to may still have."""

    def __init__(self, partitions: PartitionRacks, ownership: Ownership, racks: Racks) -> None:
        self._partitions = partitions
        self._owned = ownership.owned
        self._disputed = ownership.disputed
        self._racks = racks
        total = sum(map(len, partitions.values()))
        self._quota, self._larger_left = divmod(total, len(self._owned))
        self._quota_max = self._quota + bool(self._larger_left)
        self._below: list[str] = []  # members with less than the quota
        self._at: list[str] = []  # members with exactly the quota, as long as one of them may have more
        self._revoked: dict[TopicPartition, str] = {}
        self.assignment: Assignment = {member_id: [] for member_id in self._owned}
        self.transferring: dict[TopicPartition, str] = {}

    def run(self) -> Assignment:
        for member_id, owned in self._owned.items():
            self._keep(member_id, owned)
        self._below.sort()
        self._at.sort()
        left = self._racks.fewest_members_first(self._unassigned())
        if self._racks:
            left = [partition for partition in left if not self._assign_in_rack(partition)]
        self._deal(left)
        assert all(len(self.assignment[member_id]) == self._quota for member_id in self._below)
        return self.assignment

    def _keep(self, member_id: str, owned: Sequence[TopicPartition]) -> None:
        fitting = []
        for partition in sorted(owned, key=lambda each: (each.partition, each.topic)):
            if self._racks.mismatch(member_id, partition):
                self._revoked[partition] = member_id
            elif partition not in self._disputed:
                fitting.append(partition)
        if len(fitting) < self._quota:
            self._below.append(member_id)
            kept = len(fitting)
        elif self._larger_left and len(fitting) >= self._quota_max:
            kept = self._quota_max
            self._one_is_larger()
        else:
            kept = self._quota
            if self._larger_left:
                self._at.append(member_id)
        self.assignment[member_id] += fitting[:kept]
        self._revoked.update(dict.fromkeys(fitting[kept:], member_id))

    def _one_is_larger(self) -> None:
        self._larger_left -= 1
        if not self._larger_left:
            self._at.clear()

    def _unassigned(self) -> list[TopicPartition]:
        assigned = set[TopicPartition]().union(*self.assignment.values())
        return [
            partition
            for topic in sorted(self._partitions)
            for partition in (TopicPartition(topic, number) for number in range(len(self._partitions[topic])))
            if partition not in assigned
        ]

    # -- partitions that nobody keeps

    _turn = 0

    def _assign_in_rack(self, partition: TopicPartition) -> bool:
        index = self._racks.next_in_rack(partition, self._below, self._turn)
        if index is not None:
            member_id = self._below[index]
            self._give(partition, member_id)
            if len(self.assignment[member_id]) >= self._quota:
                del self._below[index]
                if self._larger_left:
                    self._at.append(member_id)
            else:
                index += 1
            self._turn = index % len(self._below) if self._below else 0
            return True
        index = self._racks.next_in_rack(partition, self._at, 0)
        if index is None:
            return False
        self._give(partition, self._at.pop(index))
        self._one_is_larger()
        return True

    def _deal(self, partitions: Sequence[TopicPartition]) -> None:
        turn = 0
        for partition in partitions:
            if not self._below:
                self._give(partition, self._at.pop(0))
                continue
            turn %= len(self._below)
            member_id = self._below[turn]
            self._give(partition, member_id)
            if len(self.assignment[member_id]) == self._quota:
                self._at.append(self._below.pop(turn))
            else:
                turn += 1

    def _give(self, partition: TopicPartition, member_id: str) -> None:
        self.assignment[member_id].append(partition)
        if self._revoked.get(partition, member_id) != member_id or partition in self._disputed:
            self.transferring[partition] = member_id
