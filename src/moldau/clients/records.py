"""The small values that clients take and give."""

from __future__ import annotations

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class OffsetAndMetadata(NamedTuple):
    """A committed position: the offset of the next record to read, with a note of the one who commits."""

    offset: int
    metadata: str = ""
    leader_epoch: int | None = None


class GroupMetadata(NamedTuple):
    """Who a consumer is in its group, so that a transaction's offsets are refused once it is no longer (KIP-447)."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


class RecordMetadata(NamedTuple):
    """Where a record went. With acks=0 nobody knows: the offset is -1. Sizes are -1 for null."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    serialized_key_size: int
    serialized_value_size: int
