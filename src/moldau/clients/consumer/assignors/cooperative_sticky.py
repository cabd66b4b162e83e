"""Cooperative sticky: nobody stops reading what they keep, and a partition changes hands in two rebalances (KIP-429).

In the first one its old owner learns that it has lost it, and the new one does not get it yet. The old owner revokes
it and joins again; in the second one nobody has it, and it goes to where it belongs.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct

from moldau.clients.consumer.assignors.assignor import (
    NO_GENERATION,
    Assignment,
    GroupMember,
    PartitionRacks,
)
from moldau.clients.consumer.assignors.sticky import StickyAssignor
from moldau.clients.consumer.assignors.sticky_members import Claim
from moldau.clients.records import TopicPartition

_GENERATION = Struct(">i")


class CooperativeStickyAssignor(StickyAssignor):
    name = "cooperative-sticky"
    cooperative = True

    def assign(self, partitions: PartitionRacks, members: Mapping[str, GroupMember]) -> Assignment:
        assignment, transferring = self.assign_and_compare(partitions, members)
        if transferring is None:
            transferring = _changing_hands(members, assignment)
        for partition, member_id in transferring.items():
            assignment[member_id].remove(partition)
        return assignment

    def claim_of(self, member: GroupMember) -> Claim:
        owned = list(member.owned_partitions)
        if member.generation_id >= 0:
            return Claim(owned, member.generation_id)
        data = member.user_data
        if data is None:
            return Claim(owned, None)
        return Claim(owned, _GENERATION.unpack_from(data)[0] if len(data) >= _GENERATION.size else NO_GENERATION)

    def user_data(self) -> bytes | None:
        return _GENERATION.pack(self._generation_id)


def _changing_hands(members: Mapping[str, GroupMember], assignment: Assignment) -> dict[TopicPartition, str]:
    added: dict[TopicPartition, str] = {}
    revoked: set[TopicPartition] = set()
    for member_id, its in assignment.items():
        owned = set(members[member_id].owned_partitions)
        added.update((partition, member_id) for partition in its if partition not in owned)
        revoked |= owned.difference(its)
    return {partition: member_id for partition, member_id in added.items() if partition in revoked}
