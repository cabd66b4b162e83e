"""The rules of the codec, each on the smallest message that shows it."""

from __future__ import annotations

import struct
import subprocess
import sys

import pytest

from moldau.base.errors import MalformedMessage, UnsupportedVersion
from moldau.protocol.codec import decode, encode, encode_parts
from moldau.protocol.messages.api_versions import ApiVersionsResponse
from moldau.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from moldau.protocol.schema import Versions
from moldau.protocol.show import show
from moldau.protocol.stored import decode_key, decode_versioned, encode_key, encode_versioned
from moldau.protocol.stored.consumer_protocol import ConsumerProtocolSubscription
from moldau.protocol.stored.group_metadata import GroupMetadataKey, OffsetCommitKey, OffsetCommitValue


def test_a_message_looks_as_the_protocol_says() -> None:
    request = HeartbeatRequest(group_id="g", generation_id=5, member_id="m", group_instance_id=None)
    assert encode(request, 0) == b"\0\x01g" + struct.pack(">i", 5) + b"\0\x01m"
    assert encode(request, 3) == encode(request, 0) + b"\xff\xff"
    assert encode(request, 4) == b"\x02g" + struct.pack(">i", 5) + b"\x02m" + b"\0" + b"\0"


def test_a_value_that_a_version_cannot_carry_is_refused_unless_ignorable() -> None:
    with pytest.raises(UnsupportedVersion, match="group_instance_id"):
        encode(HeartbeatRequest(group_instance_id="static"), 2)
    assert encode(MetadataResponse(throttle_time_ms=5), 0) == bytes(8)  # ignorable: dropped


def test_unknown_tagged_fields_are_skipped() -> None:
    plain = encode(HeartbeatRequest(group_id="g"), 4)
    assert decode(HeartbeatRequest, 4, plain[:-1] + b"\x02\x05\x03abc\x87\x01\x00").group_id == "g"


def test_a_tagged_struct_is_none_unless_sent() -> None:
    response = FetchResponse(responses=[FetchableTopicResponse(partitions=[PartitionData()])])
    [topic] = decode(FetchResponse, 12, encode(response, 12)).responses
    assert topic.partitions[0].current_leader is None
    response.responses[0].partitions[0].current_leader = LeaderIdAndEpoch(leader_id=3, leader_epoch=9)
    [topic] = decode(FetchResponse, 12, encode(response, 12)).responses
    assert topic.partitions[0].current_leader == LeaderIdAndEpoch(leader_id=3, leader_epoch=9)


def test_null_and_empty_are_told_apart() -> None:
    for topics in (None, [], [MetadataRequestTopic(name="t")]):
        assert decode(MetadataRequest, 12, encode(MetadataRequest(topics=topics), 12)).topics == topics


def test_null_where_there_must_be_none_is_refused() -> None:
    with pytest.raises(MalformedMessage, match=r"HeartbeatRequest\.group_id must not be null"):
        decode(HeartbeatRequest, 4, b"\0" + bytes(20))
    with pytest.raises(MalformedMessage, match="must not be null"):
        decode(HeartbeatRequest, 0, b"\xff\xff" + bytes(20))


def test_text_must_be_utf8() -> None:
    with pytest.raises(MalformedMessage, match="UTF-8"):
        decode(HeartbeatRequest, 0, b"\0\x02\xff\xfe" + bytes(20))


@pytest.mark.parametrize("count", [2**31 - 1, 1_000_000, 129])
def test_a_count_that_cannot_fit_is_refused_before_anything_is_made(count: int) -> None:
    with pytest.raises(MalformedMessage, match=f"length {count} does not fit"):
        decode(MetadataRequest, 1, struct.pack(">i", count) + bytes(16))


@pytest.mark.parametrize("varint", [b"\xff\xff\xff\xff\xff\xff", b"\x80\x80\x80\x80\x80\x01"])
def test_a_varint_longer_than_five_bytes_is_refused(varint: bytes) -> None:
    with pytest.raises(MalformedMessage, match="varint longer than five bytes"):
        decode(HeartbeatRequest, 4, varint + bytes(20))


def test_record_batches_are_not_copied() -> None:
    batch = memoryview(bytes(1000))
    partition = PartitionProduceData(index=1, records=batch)
    request = ProduceRequest(topic_data=[TopicProduceData(name="t", partition_data=[partition])])
    parts = encode_parts(request, 9)
    assert any(part is batch for part in parts)
    frame = bytearray(b"".join(parts))
    decoded = decode(ProduceRequest, 9, memoryview(frame)).topic_data[0].partition_data[0].records
    assert isinstance(decoded, memoryview)
    assert decoded.obj is frame


def test_bytes_after_a_message_are_ignored_as_kafka_does() -> None:
    assert decode(ApiVersionsResponse, 0, encode(ApiVersionsResponse(error_code=35), 0) + b"more").error_code == 35


def test_stored_keys_and_values_carry_their_type_and_version() -> None:
    key = OffsetCommitKey(group="g", topic="t", partition=3)
    assert encode_key(key) == b"\0\x01" + b"\0\x01g" + b"\0\x01t" + struct.pack(">i", 3)
    assert decode_key(OffsetCommitKey, encode_key(key)) == key
    with pytest.raises(MalformedMessage, match="record type 2, not 1"):
        decode_key(GroupMetadataKey, encode_key(key))
    value = OffsetCommitValue(offset=12, leader_epoch=4, metadata="note", commit_timestamp=99)
    assert encode_versioned(value, 3)[:2] == b"\0\x03"
    assert decode_versioned(OffsetCommitValue, encode_versioned(value, 3)) == value


def test_a_blob_of_a_newer_version_is_read_as_the_newest_known() -> None:
    data = b"\0\x09" + encode(ConsumerProtocolSubscription(topics=["t"], rack_id="r"), 3) + b"what is new"
    assert decode_versioned(ConsumerProtocolSubscription, data).topics == ["t"]


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xff"])
def test_no_stored_value_is_a_clean_error(data: bytes) -> None:
    with pytest.raises(MalformedMessage):
        decode_versioned(OffsetCommitValue, data)


def test_versions_are_written_as_kafka_writes_them() -> None:
    assert [str(Versions.parse(text)) for text in ("3", "3-7", "3+", "")] == ["3", "3-7", "3+", "none"]


def test_show_prints_the_generated_functions() -> None:
    text = show("Fetch", 13)
    assert text.count("def run(") == 4
    assert "# decode FetchResponse v13" in text
    with pytest.raises(ValueError, match=r"Fetch has versions 0-18"):
        show("fetch", 99)


def test_show_says_how_it_is_used() -> None:
    done = subprocess.run([sys.executable, "-m", "moldau.protocol.show"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Examples:" in done.stderr
