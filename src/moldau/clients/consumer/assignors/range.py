"""Range: the partitions of each topic in one row, cut into as many neighbouring pieces as it has subscribers.

The first members get one more where it does not divide evenly. As every topic is cut in the same way, partitions of
the same number in topics of the same size go to the same member, which joins of such topics rely on.

Where members and replicas tell their racks (KIP-881), members first get partitions that have a replica in their own
rack, as far as the sizes of the pieces allow; topics of the same size and subscribers are then matched together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from moldau.clients.consumer.assignors.assignor import (
    Assignment,
    Assignor,
    GroupMember,
    PartitionRacks,
    in_member_order,
    racks_matter,
)
from moldau.clients.records import TopicPartition


class RangeAssignor(Assignor):
    name = "range"

    def assign(self, partitions: PartitionRacks, members: Mapping[str, GroupMember]) -> Assignment:
        order = in_member_order(members)
        topics = [
            _TopicRange(
                topic, racks, {each: members[each].rack_id or "" for each in order if topic in members[each].topics}
            )
            for topic, racks in partitions.items()
            if racks
        ]
        by_rack = any(topic.needs_racks for topic in topics)
        if by_rack:
            _assign_by_rack(topics)
        for topic in topics:
            topic.assign_ranges(lambda _member, _partition: True)
        assignment: Assignment = {member_id: [] for member_id in members}
        for topic in topics:
            for member_id, numbers in topic.assigned.items():
                assignment[member_id] += [TopicPartition(topic.topic, number) for number in numbers]
        return {member_id: sorted(its) for member_id, its in assignment.items()} if by_rack else assignment


class _TopicRange:
    """A topic while it is divided among its subscribers, which are in their order and have racks."""

    def __init__(self, topic: str, racks: Sequence[frozenset[str]], member_racks: dict[str, str]) -> None:
        self.topic = topic
        self.racks = racks
        self.member_racks = member_racks
        self.assigned: dict[str, list[int]] = {member_id: [] for member_id in member_racks}
        self._unassigned = dict.fromkeys(range(len(racks)))
        self._size, self._larger_left = divmod(len(racks), len(member_racks)) if member_racks else (0, 0)
        known_racks = set(member_racks.values()) - {""}
        self.needs_racks = bool(known_racks) and racks_matter(known_racks, racks)

    def room(self, member_id: str) -> int:
        return max(0, self._size + (self._larger_left > 0) - len(self.assigned[member_id]))

    def in_rack(self, member_id: str, partition: int) -> bool:
        rack = self.member_racks[member_id]
        return not rack or rack in self.racks[partition]

    def give(self, member_id: str, partitions: Sequence[int]) -> None:
        its = self.assigned[member_id]
        its += partitions
        if len(its) > self._size:
            self._larger_left -= 1
        for partition in partitions:
            del self._unassigned[partition]

    def assign_ranges(self, may_have: Callable[[str, int], bool]) -> None:
        for member_id in self.assigned:
            fitting = (partition for partition in self._unassigned if may_have(member_id, partition))
            if chosen := list(islice(fitting, self.room(member_id))):
                self.give(member_id, chosen)


def _assign_by_rack(topics: Sequence[_TopicRange]) -> None:
    alike: dict[tuple[tuple[str, ...], int], list[_TopicRange]] = {}
    for topic in topics:
        # Where no subscriber tells its rack, topics of all sizes are in one class and none of them can match.
        partitions = len(topic.racks) if any(topic.member_racks.values()) else 0
        alike.setdefault((tuple(topic.member_racks), partitions), []).append(topic)
    for (member_ids, partitions), together in alike.items():
        if len(together) > 1:
            _assign_together(member_ids, partitions, together)
        elif together[0].needs_racks:
            together[0].assign_ranges(together[0].in_rack)


def _assign_together(member_ids: Sequence[str], partitions: int, topics: Sequence[_TopicRange]) -> None:
    """Partitions of the same number to one member, where it is in the rack of all of them."""
    left = list(member_ids)
    for partition in range(partitions):
        for member_id in left:
            if all(topic.in_rack(member_id, partition) and topic.room(member_id) for topic in topics):
                for topic in topics:
                    topic.give(member_id, [partition])
                if not any(topic.room(member_id) for topic in topics):
                    left.remove(member_id)
                break
