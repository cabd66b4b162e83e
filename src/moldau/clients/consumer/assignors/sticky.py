"""Sticky: as balanced as can be, and of all such assignments one that moves few partitions.

A member tells what it had in the user data of its subscription: the partitions and the generation. (Subscriptions
carry both since KIP-429 and KIP-792; user data is what older members, and eager ones, are understood by.)

    previous assignment: array of (topic: string, partitions: array of int32) | generation: int32, since KIP-341
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from moldau.base.errors import MalformedMessage
from moldau.clients.consumer.assignors.assignor import (
    NO_GENERATION,
    Assignment,
    Assignor,
    GroupMember,
    PartitionRacks,
)
from moldau.clients.consumer.assignors.java_order import strings_in_java_order
from moldau.clients.consumer.assignors.racks import Racks
from moldau.clients.consumer.assignors.sticky_equal import EqualAssignment
from moldau.clients.consumer.assignors.sticky_general import GeneralAssignment
from moldau.clients.consumer.assignors.sticky_members import Claim, settle_ownership
from moldau.clients.consumer.topic_partitions import by_topic
from moldau.clients.records import TopicPartition
from moldau.protocol.codec import decode, encode
from moldau.protocol.schema import Int32, Message, message, wire
from moldau.protocol.stored.consumer_protocol import TopicPartition as TopicPartitions


@message(versions="0-1")
class StickyUserData(Message):
    previous_assignment: list[TopicPartitions] = wire(default=[])
    generation: Int32 = wire("1+", default=NO_GENERATION)


class StickyAssignor(Assignor):
    name = "sticky"

    def __init__(self) -> None:
        self._latest_generation = NO_GENERATION
        self._partitions: Sequence[TopicPartition] | None = None
        self._generation_id = NO_GENERATION

    def assign(self, partitions: PartitionRacks, members: Mapping[str, GroupMember]) -> Assignment:
        assignment, _ = self.assign_and_compare(partitions, members)
        return assignment

    def assign_and_compare(
        self, partitions: PartitionRacks, members: Mapping[str, GroupMember]
    ) -> tuple[Assignment, dict[TopicPartition, str] | None]:
        """The assignment, and the partitions that change hands, if it takes no comparison to know them."""
        members = {member_id: members[member_id] for member_id in strings_in_java_order(members)}
        ownership = settle_ownership(partitions, members, self.claim_of, self._latest_generation)
        self._latest_generation = ownership.generation_id
        racks = Racks(partitions, members)
        if ownership.same_topics:
            run = EqualAssignment(partitions, ownership, racks)
            return run.run(), run.transferring
        return GeneralAssignment(partitions, members, ownership, self.claim_of, racks).run(), None

    def claim_of(self, member: GroupMember) -> Claim:
        """What a member says that it owned."""
        data = member.user_data
        if not data:
            return Claim([], None)
        for version in (1, 0):
            try:
                said = decode(StickyUserData, version, data)
            except MalformedMessage:
                continue
            owned = [
                TopicPartition(each.topic, number) for each in said.previous_assignment for number in each.partitions
            ]
            return Claim(owned, said.generation if version else None)
        return Claim([], NO_GENERATION)

    def user_data(self) -> bytes | None:
        if self._partitions is None:
            return None
        previous = [
            TopicPartitions(topic=topic, partitions=numbers) for topic, numbers in by_topic(self._partitions).items()
        ]
        return bytes(encode(StickyUserData(previous_assignment=previous, generation=self._generation_id), 1))

    def on_assignment(self, partitions: Sequence[TopicPartition], generation_id: int) -> None:
        self._partitions = list(partitions)
        self._generation_id = generation_id
