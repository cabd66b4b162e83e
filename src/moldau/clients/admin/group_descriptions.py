"""Groups and their members as they are described, whichever protocol they speak."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from moldau.base.errors import MalformedMessage
from moldau.clients.admin.acl_operations import AclOperation, authorized_operations
from moldau.clients.network.metadata import Node
from moldau.clients.records import TopicPartition
from moldau.protocol.codec import decode
from moldau.protocol.messages import consumer_group_describe, describe_groups
from moldau.protocol.stored.consumer_protocol import ConsumerProtocolAssignment

_CONSUMER_PROTOCOL: Final = "consumer"
_CLASSIC_MEMBER: Final = 0


@dataclass(frozen=True, slots=True)
class MemberDescription:
    """A member; the last five are those of the new protocol (KIP-848), and None in classic groups."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    assignment: frozenset[TopicPartition]
    target_assignment: frozenset[TopicPartition] | None = None
    member_epoch: int | None = None
    subscribed_topics: tuple[str, ...] | None = None
    rack: str | None = None
    upgraded: bool | None = None


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """A group; `type` is "classic" or "consumer", the epochs are those of the latter."""

    group_id: str
    protocol: str
    partition_assignor: str
    type: str
    state: str
    coordinator: Node
    members: tuple[MemberDescription, ...]
    authorized_operations: frozenset[AclOperation] | None
    group_epoch: int | None = None
    target_assignment_epoch: int | None = None

    @property
    def is_simple_consumer_group(self) -> bool:
        """Whether it has offsets only, and never had members."""
        return not self.protocol


def described_classic(group: describe_groups.DescribedGroup, coordinator: Node) -> GroupDescription:
    speaks_consumer = group.protocol_type in (_CONSUMER_PROTOCOL, "")
    return GroupDescription(
        group.group_id,
        group.protocol_type,
        group.protocol_data,
        "classic",
        group.group_state,
        coordinator,
        tuple(
            MemberDescription(
                each.member_id,
                each.group_instance_id,
                each.client_id,
                each.client_host,
                _assigned(each.member_assignment) if speaks_consumer else frozenset(),
            )
            for each in group.members
        ),
        authorized_operations(group.authorized_operations),
    )


def described_consumer(group: consumer_group_describe.DescribedGroup, coordinator: Node) -> GroupDescription:
    return GroupDescription(
        group.group_id,
        _CONSUMER_PROTOCOL,
        group.assignor_name,
        "consumer",
        group.group_state,
        coordinator,
        tuple(_new_member(each) for each in group.members),
        authorized_operations(group.authorized_operations),
        group.group_epoch,
        group.assignment_epoch,
    )


def _new_member(member: consumer_group_describe.Member) -> MemberDescription:
    return MemberDescription(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        _partitions(member.assignment),
        _partitions(member.target_assignment),
        member.member_epoch,
        tuple(member.subscribed_topic_names),
        member.rack_id,
        None if member.member_type < 0 else member.member_type != _CLASSIC_MEMBER,
    )


def _partitions(assignment: consumer_group_describe.Assignment) -> frozenset[TopicPartition]:
    return frozenset(
        TopicPartition(each.topic_name, number) for each in assignment.topic_partitions for number in each.partitions
    )


def _assigned(data: bytes) -> frozenset[TopicPartition]:
    """What a leader wrote for a member; none if that is not what consumers write, or they have none yet."""
    if len(data) < 2:
        return frozenset()
    version = min(int.from_bytes(data[:2], "big", signed=True), ConsumerProtocolAssignment.VERSIONS.high)
    try:
        assignment = decode(ConsumerProtocolAssignment, max(0, version), data, 2)
    except MalformedMessage:
        return frozenset()
    return frozenset(
        TopicPartition(each.topic, number) for each in assignment.assigned_partitions for number in each.partitions
    )
