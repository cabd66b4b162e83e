"""The records of groups in `__consumer_offsets`, byte for byte as Kafka 3.9 writes them."""

from __future__ import annotations

from collections.abc import Mapping

from moldau.coordinator.group.group import ClassicGroup
from moldau.coordinator.group.member import Member
from moldau.coordinator.group.offset_codec import NONE, CommittedOffset, offset_key, offset_value
from moldau.coordinator.group.states import EMPTY, STABLE
from moldau.coordinator.runtime.result import StoredRecord
from moldau.protocol.stored import decode_versioned, encode_key, encode_versioned
from moldau.protocol.stored.group_metadata import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)

GROUP_VERSION = 3


# -- offsets


def offset_record(group_id: str, topic: str, partition: int, committed: CommittedOffset) -> StoredRecord:
    return StoredRecord(offset_key(group_id, topic, partition), offset_value(committed))


def offset_tombstone(group_id: str, topic: str, partition: int) -> StoredRecord:
    return StoredRecord(offset_key(group_id, topic, partition), None)


# -- groups


def group_record(group: ClassicGroup, assignment: Mapping[str, bytes]) -> StoredRecord:
    """The members of a generation with what each is assigned, or that there are none."""
    members = []
    for member in group.members.values():
        assert group.protocol_name is not None, "members are written when they have agreed on a protocol"
        members.append(
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(group.protocol_name),
                assignment=assignment[member.member_id],
            )
        )
    return _group(group, members, group.protocol_type, group.generation_id)


def new_group_record(group: ClassicGroup) -> StoredRecord:
    """That a group exists, whose first rebalance is under way."""
    return _group(group, [], None, 0)


def _group(
    group: ClassicGroup, members: list[MemberMetadata], protocol_type: str | None, generation_id: int
) -> StoredRecord:
    value = GroupMetadataValue(
        protocol_type=protocol_type or "",
        generation=generation_id,
        protocol=group.protocol_name if members else None,
        leader=group.leader_id if members else None,
        current_state_timestamp=NONE if group.state_since_ms is None else group.state_since_ms,
        members=members,
    )
    return StoredRecord(_group_key(group.group_id), encode_versioned(value, GROUP_VERSION))


def group_tombstone(group_id: str) -> StoredRecord:
    return StoredRecord(_group_key(group_id), None)


def _group_key(group_id: str) -> bytes:
    return encode_key(GroupMetadataKey(group=group_id))


def read_group(group_id: str, value: bytes) -> ClassicGroup:
    """The group as it was written: Stable, or Empty."""
    found = decode_versioned(GroupMetadataValue, value)
    since_ms = found.current_state_timestamp
    group = ClassicGroup(group_id, STABLE if found.members else EMPTY, None if since_ms == NONE else since_ms)
    group.generation_id = found.generation
    group.protocol_type = found.protocol_type or None
    group.protocol_name = found.protocol
    group.leader_id = found.leader
    for one in found.members:
        # Its other protocols are not stored; it tells them again with its next join.
        member = Member(
            member_id=one.member_id,
            group_instance_id=one.group_instance_id,
            client_id=one.client_id,
            client_host=one.client_host,
            rebalance_timeout_ms=one.session_timeout if one.rebalance_timeout == NONE else one.rebalance_timeout,
            session_timeout_ms=one.session_timeout,
            protocols=((found.protocol or "", one.subscription),),
            assignment=one.assignment,
        )
        group.add(member, found.protocol_type)
    group.find_subscribed_topics()
    return group
