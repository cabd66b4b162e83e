"""The batch of a repeated commit is, byte for byte, the one that the general way makes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.coordinator.group.offset_codec import CommittedOffset
from moldau.coordinator.group.repeated_offsets import RepeatedOffsets
from moldau.coordinator.group.stored_records import offset_record
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from moldau.records.builder import build_batch

OFFSETS = st.integers(-1, 2**63 - 1)
EPOCHS = st.integers(-1, 2**31 - 1)
PARTITION = st.tuples(st.integers(0, 2**31 - 1), st.text(max_size=200) | st.none(), OFFSETS, EPOCHS)
TOPICS = st.dictionaries(st.text(max_size=249), st.lists(PARTITION, min_size=1, max_size=20), min_size=1, max_size=3)


@settings(max_examples=30)
@given(st.text(max_size=80), TOPICS, st.integers(0, 2**62))
def test_bytes_are_those_of_the_general_way(
    group_id: str, topics: dict[str, list[tuple[int, str | None, int, int]]], now_ms: int
) -> None:
    request = OffsetCommitRequest(
        group_id=group_id,
        topics=[
            OffsetCommitRequestTopic(
                name=name,
                partitions=[
                    OffsetCommitRequestPartition(partition_index=index, committed_metadata=metadata)
                    for index, metadata, _, _ in partitions
                ],
            )
            for name, partitions in topics.items()
        ],
    )
    expected = [
        offset_record(group_id, name, index, CommittedOffset(offset, epoch, metadata or "", now_ms))
        for name, partitions in topics.items()
        for index, metadata, offset, epoch in partitions
    ]
    offsets = [(offset, epoch) for partitions in topics.values() for _, _, offset, epoch in partitions]
    batch, records = RepeatedOffsets(request).batch(offsets, now_ms)
    assert records == expected
    assert batch == build_batch([(number, now_ms, *record, ()) for number, record in enumerate(expected)])
