"""What members tell each other through the coordinator, and the leader's assignment.

Each member says to each assignor what it subscribes, owns and remembers; the leader reads what all of them said to the
assignor that was chosen, and writes for each what it gets.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence

from moldau.clients.consumer.assignors import Assignor, GroupMember, PartitionRacks
from moldau.clients.consumer.topic_partitions import by_topic
from moldau.clients.network.metadata import ClusterMetadata
from moldau.clients.records import TopicPartition
from moldau.protocol.messages.join_group import JoinGroupResponseMember
from moldau.protocol.stored import decode_versioned, encode_versioned
from moldau.protocol.stored.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from moldau.protocol.stored.consumer_protocol import TopicPartition as TopicPartitions

logger = logging.getLogger(__name__)

SUBSCRIPTION_VERSION = 3
ASSIGNMENT_VERSION = 3


def subscription_blob(
    assignor: Assignor, topics: Iterable[str], owned: Iterable[TopicPartition], generation_id: int, rack: str
) -> bytes:
    """What this member says to an assignor."""
    said = ConsumerProtocolSubscription(
        topics=sorted(topics),
        user_data=assignor.user_data(),
        owned_partitions=_grouped(owned),
        generation_id=generation_id,
        rack_id=rack or None,
    )
    return encode_versioned(said, SUBSCRIPTION_VERSION)


def read_members(members: Iterable[JoinGroupResponseMember]) -> dict[str, GroupMember]:
    """What all members said to the assignor that was chosen."""
    read = {}
    for each in members:
        said = decode_versioned(ConsumerProtocolSubscription, bytes(each.metadata))
        read[each.member_id] = GroupMember(
            topics=said.topics,
            user_data=None if said.user_data is None else bytes(said.user_data),
            owned_partitions=_flat(said.owned_partitions),
            generation_id=said.generation_id,
            rack_id=said.rack_id,
            group_instance_id=each.group_instance_id,
        )
    return read


def assign(assignor: Assignor, members: Mapping[str, GroupMember], metadata: ClusterMetadata) -> dict[str, bytes]:
    """The leader's work: what each member gets, as bytes."""
    topics = {topic for member in members.values() for topic in member.topics}
    assignment = assignor.assign(partition_racks(topics, metadata), members)
    assigned = {partition.topic for its in assignment.values() for partition in its}
    if missing := sorted(topics - assigned):
        logger.warning("The following subscribed topics are not assigned to any members: %s", ", ".join(missing))
    return {
        member_id: encode_versioned(ConsumerProtocolAssignment(assigned_partitions=_grouped(its)), ASSIGNMENT_VERSION)
        for member_id, its in assignment.items()
    }


def read_assignment(blob: bytes) -> list[TopicPartition]:
    """This member's part; one that is left out of an assignment gets no bytes, and no partitions."""
    if not blob:
        return []
    return _flat(decode_versioned(ConsumerProtocolAssignment, blob).assigned_partitions)


def partition_racks(topics: Collection[str], metadata: ClusterMetadata) -> PartitionRacks:
    """The partitions of the topics that exist, and the racks of their replicas."""
    racks = {node_id: node.rack for node_id, node in metadata.nodes.items() if node.rack}
    return {
        topic: [frozenset(racks[each] for each in partition.replicas if each in racks) for partition in partitions]
        for topic in sorted(topics)
        if (partitions := metadata.partitions(topic))
    }


def _grouped(partitions: Iterable[TopicPartition]) -> list[TopicPartitions]:
    return [TopicPartitions(topic=topic, partitions=numbers) for topic, numbers in by_topic(partitions).items()]


def _flat(topics: Sequence[TopicPartitions]) -> list[TopicPartition]:
    return [TopicPartition(each.topic, number) for each in topics for number in each.partitions]
