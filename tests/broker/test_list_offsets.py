"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords: what offsets a partition has, and where it begins."""

from __future__ import annotations

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from moldau.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from moldau.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.broker.requests_to_broker import NOW_MS, Broker, records

LATEST, EARLIEST, LARGEST, EARLIEST_LOCAL, TIERED, PENDING = range(-1, -7, -1)


@pytest.fixture
def topic(broker: Broker, moldau_topic: str) -> str:
    """Offsets 0 to 5; the largest timestamp is that of offset 2."""
    for timestamp in (NOW_MS, NOW_MS + 500, NOW_MS + 100):
        broker.produce(moldau_topic, records(b"a", b"b", timestamp=timestamp))
    return moldau_topic


@pytest.mark.parametrize("version", range(1, 12))
def test_latest_and_earliest_in_every_version(broker: Broker, topic: str, version: int) -> None:
    assert broker.offset(topic, LATEST, version).offset == 6
    assert broker.offset(topic, EARLIEST, version).offset == 0


def test_version_0_lists_the_beginnings_of_segments_latest_first(broker: Broker, topic: str) -> None:
    assert broker.offset(topic, LATEST, 0, max_num_offsets=5).old_style_offsets == [6, 0]
    assert broker.offset(topic, LATEST, 0, max_num_offsets=1).old_style_offsets == [6]
    assert broker.offset(topic, EARLIEST, 0, max_num_offsets=5).old_style_offsets == [0]


@pytest.mark.parametrize(
    ("timestamp", "offset"), [(0, 0), (NOW_MS, 0), (NOW_MS + 1, 2), (NOW_MS + 500, 2), (NOW_MS + 501, -1)]
)
def test_the_first_record_at_or_after_a_time(broker: Broker, topic: str, timestamp: int, offset: int) -> None:
    assert broker.offset(topic, timestamp).offset == offset


def test_a_found_record_has_its_timestamp_and_epoch(broker: Broker, topic: str) -> None:
    found = broker.offset(topic, NOW_MS + 1)
    assert (found.timestamp, found.leader_epoch) == (NOW_MS + 500, 0)


@pytest.mark.parametrize(
    ("timestamp", "version", "offset"), [(LARGEST, 7, 2), (EARLIEST_LOCAL, 8, 0), (TIERED, 9, -1), (PENDING, 11, -1)]
)
def test_special_timestamps_from_their_versions_on(
    broker: Broker, topic: str, timestamp: int, version: int, offset: int
) -> None:
    assert broker.offset(topic, timestamp, version).offset == offset
    assert broker.offset(topic, timestamp, version - 1).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_errors_of_list_offsets(broker: Broker, topic: str) -> None:
    assert broker.offset("nowhere", LATEST).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert broker.offset(topic, LATEST, current_leader_epoch=9).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    twice = [ListOffsetsPartition(timestamp=LATEST)] * 2
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=twice)])
    answer = broker.cluster.request(request, 7)
    assert [one.error_code for one in answer.topics[0].partitions] == [ErrorCode.INVALID_REQUEST] * 2


@pytest.mark.parametrize("version", range(5))
def test_where_an_epoch_ends(broker: Broker, topic: str, version: int) -> None:
    def ask(epoch: int, current: int = -1) -> tuple[int, int, int]:
        one = OffsetForLeaderPartition(leader_epoch=epoch, current_leader_epoch=current)
        request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=topic, partitions=[one])])
        found = broker.cluster.request(request, version).topics[0].partitions[0]
        return found.error_code, found.leader_epoch, found.end_offset

    assert ask(0) == (0, 0 if version >= 1 else -1, 6)
    assert ask(7) == (0, -1, -1)
    if version >= 2:
        assert ask(0, current=3)[0] == ErrorCode.UNKNOWN_LEADER_EPOCH


def delete(broker: Broker, topic: str, offset: int, version: int = 2) -> tuple[int, int]:
    one = DeleteRecordsPartition(offset=offset)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[one])], timeout_ms=5_000)
    found = broker.cluster.request(request, version).topics[0].partitions[0]
    return found.error_code, found.low_watermark


@pytest.mark.parametrize("version", range(3))
def test_deleted_records_are_gone(broker: Broker, topic: str, version: int) -> None:
    assert delete(broker, topic, 3, version) == (0, 3)
    assert broker.offset(topic, EARLIEST).offset == 3
    assert broker.fetch(topic, 2).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert delete(broker, topic, -1, version) == (0, 6)
    assert delete(broker, topic, 2, version) == (0, 6)


def test_errors_of_delete_records(broker: Broker, topic: str) -> None:
    assert delete(broker, topic, 7) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert delete(broker, "nowhere", 0) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    broker.cluster.create_topic("compacted-only", config={"cleanup.policy": "compact"})
    assert delete(broker, "compacted-only", 0) == (ErrorCode.POLICY_VIOLATION, -1)
