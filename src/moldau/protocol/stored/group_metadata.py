"""What a classic group stores in `__consumer_offsets`: its committed offsets and its membership.

A key begins with its record type, a value with its version. A null value is a tombstone.

OffsetCommitValue v1: an expiry of its own; v2: the broker's retention again (KIP-211); v3: leader epoch (KIP-320);
    v4: flexible, topic id.
GroupMetadataValue v1: rebalance timeout; v2: when the state was entered (KIP-211); v3: static members (KIP-345);
    v4: flexible.
"""

from __future__ import annotations

from moldau.protocol.schema import ZERO_UUID, Bytes, Int32, Int64, Message, String, Struct, Uuid, message, struct, wire


@message(key=0, versions="0")
class LegacyOffsetCommitKey(Message):
    group: String = ""
    topic: String = ""
    partition: Int32 = 0


@message(key=0, versions="0")
class LegacyOffsetCommitValue(Message):
    offset: Int64 = 0
    metadata: String = ""
    commit_timestamp: Int64 = 0


@message(key=1, versions="0")
class OffsetCommitKey(Message):
    group: String = ""
    topic: String = ""
    partition: Int32 = 0


@message(key=1, versions="0-4", flexible="4+")
class OffsetCommitValue(Message):
    offset: Int64 = 0
    leader_epoch: Int32 = wire("3+", default=-1, ignorable=True)
    metadata: String = ""
    commit_timestamp: Int64 = 0
    expire_timestamp: Int64 = wire("1", default=-1, ignorable=True)
    topic_id: Uuid = wire("4+", default=ZERO_UUID, tag=0, ignorable=True)


@message(key=2, versions="0")
class GroupMetadataKey(Message):
    group: String = ""


@struct
class MemberMetadata(Struct):
    member_id: String = ""
    group_instance_id: String | None = wire("3+", default=None, null="3+", ignorable=True)
    client_id: String = ""
    client_host: String = ""
    rebalance_timeout: Int32 = wire("1+", default=-1, ignorable=True)
    session_timeout: Int32 = 0
    subscription: Bytes = b""
    assignment: Bytes = b""


@message(key=2, versions="0-4", flexible="4+")
class GroupMetadataValue(Message):
    protocol_type: String = ""
    generation: Int32 = 0
    protocol: String | None = wire(default=None, null="0+")
    leader: String | None = wire(default=None, null="0+")
    current_state_timestamp: Int64 = wire("2+", default=-1, ignorable=True)
    members: list[MemberMetadata] = wire(default=[])
