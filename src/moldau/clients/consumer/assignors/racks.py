"""Which member has which partition in its rack, for the sticky assignors (KIP-881)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from moldau.clients.consumer.assignors.assignor import GroupMember, PartitionRacks, racks_matter
from moldau.clients.records import TopicPartition


class Racks:
    """Empty, and then matching everything, where racks are unknown or make no difference."""

    def __init__(self, partitions: PartitionRacks, members: Mapping[str, GroupMember]) -> None:
        member_racks = {member_id: member.rack_id for member_id, member in members.items() if member.rack_id}
        all_racks = [racks for topic in partitions.values() for racks in topic]
        known = bool(member_racks) and racks_matter(set(member_racks.values()), all_racks)
        self._member_racks: dict[str, str] = member_racks if known else {}
        self._partitions = partitions
        self._members_in: dict[str, int] = {}
        for rack in self._member_racks.values():
            self._members_in[rack] = self._members_in.get(rack, 0) + 1

    def __bool__(self) -> bool:
        return bool(self._member_racks)

    def _of(self, partition: TopicPartition) -> frozenset[str]:
        topic = self._partitions.get(partition.topic, ())
        return topic[partition.partition] if partition.partition < len(topic) else frozenset()

    def mismatch(self, member_id: str, partition: TopicPartition) -> bool:
        rack = self._member_racks.get(member_id)
        return rack is not None and rack not in self._of(partition)

    def fewest_members_first(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Partitions that few members have in their rack are hardest to place, and go first."""
        if not self._member_racks:
            return partitions
        return sorted(partitions, key=lambda each: sum(self._members_in.get(rack, 0) for rack in self._of(each)))

    def next_in_rack(self, partition: TopicPartition, member_ids: Sequence[str], first: int) -> int | None:
        """The place of the first member in a rack of the partition's, looked for from `first` on and round."""
        racks = self._of(partition)
        for step in range(len(member_ids)):
            index = (first + step) % len(member_ids)
            if self._member_racks.get(member_ids[index]) in racks:
                return index
        return None
