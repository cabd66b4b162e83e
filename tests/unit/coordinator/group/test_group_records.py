"""The records of groups in `__consumer_offsets`: the bytes that Kafka 3.9 writes, and what is read from them."""

from __future__ import annotations

import struct

import pytest

from moldau.base.errors import MalformedMessage
from moldau.coordinator.group.group import ClassicGroup
from moldau.coordinator.group.member import Member
from moldau.coordinator.group.offset_codec import CommittedOffset, read_offset_value
from moldau.coordinator.group.settings import GroupSettings
from moldau.coordinator.group.states import EMPTY, STABLE
from moldau.coordinator.group.stored_records import (
    group_record,
    group_tombstone,
    new_group_record,
    offset_record,
    offset_tombstone,
    read_group,
)
from moldau.protocol.stored import encode_versioned
from moldau.protocol.stored.group_metadata import OffsetCommitValue
from tests.script.group_stage import GroupStage

MINUTE_MS = 60_000


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def test_an_offset_is_version_3() -> None:
    record = offset_record("group", "topic", 7, CommittedOffset(42, 5, "why", 1_700_000_000_000))
    assert record.key == b"\0\x01" + text("group") + text("topic") + struct.pack(">i", 7)
    assert record.value == b"\0\x03" + struct.pack(">qi", 42, 5) + text("why") + struct.pack(">q", 1_700_000_000_000)
    assert offset_tombstone("group", "topic", 7) == (record.key, None)


def test_an_offset_with_an_end_of_its_own_is_version_1() -> None:
    record = offset_record("g", "t", 0, CommittedOffset(42, 5, "", 1_000, 2_000))
    assert record.value == b"\0\x01" + struct.pack(">q", 42) + text("") + struct.pack(">qq", 1_000, 2_000)
    read = read_offset_value(record.value or b"", 1)
    assert (read.offset, read.leader_epoch, read.commit_ms, read.expire_ms) == (42, -1, 1_000, 2_000)


@pytest.mark.parametrize("version", range(5))
def test_offsets_of_every_version_are_read(version: int) -> None:
    value = OffsetCommitValue(offset=42, metadata="m", commit_timestamp=1_000)
    read = read_offset_value(encode_versioned(value, version), 3)
    assert (read.offset, read.metadata, read.commit_ms, read.expire_ms, read.order) == (42, "m", 1_000, -1, 3)


def group_of_two() -> ClassicGroup:
    group = ClassicGroup("g", STABLE, 1_000)
    group.generation_id = 3
    for name, instance in (("a", None), ("b", "i")):
        group.add(Member(name, instance, "client", "/127.0.0.1", 60_000, 10_000, (("range", b"said"),)), "consumer")
    group.protocol_name = "range"
    return group


def test_a_group_is_version_3() -> None:
    record = group_record(group_of_two(), {"a": b"x", "b": b""})
    timeouts = struct.pack(">ii", 60_000, 10_000)

    def written(name: str, instance: bytes, assignment: bytes) -> bytes:
        said = struct.pack(">i", 4) + b"said"
        identity = text(name) + instance + text("client") + text("/127.0.0.1")
        return identity + timeouts + said + struct.pack(">i", len(assignment)) + assignment

    head = (
        b"\0\x03" + text("consumer") + struct.pack(">i", 3) + text("range") + text("a") + struct.pack(">qi", 1_000, 2)
    )
    assert record.key == b"\0\x02" + text("g")
    assert record.value == head + written("a", b"\xff\xff", b"x") + written("b", text("i"), b"")
    assert group_tombstone("g") == (record.key, None)


def test_a_group_is_read_as_it_was_written() -> None:
    record = group_record(group_of_two(), {"a": b"x", "b": b""})
    group = read_group("g", record.value or b"")
    assert (group.state, group.generation_id, group.state_since_ms) == (STABLE, 3, 1_000)
    assert (group.protocol_type, group.protocol_name, group.leader_id) == ("consumer", "range", "a")
    assert group.static_members == {"i": "b"}
    assert [one.assignment for one in group.members.values()] == [b"x", b""]
    assert group_record(group, {"a": b"x", "b": b""}) == record


def test_a_group_that_has_just_been_made() -> None:
    group = ClassicGroup("g", EMPTY, 1_000)
    record = new_group_record(group)
    assert record.value == b"\0\x03" + text("") + struct.pack(">i", 0) + b"\xff\xff" * 2 + struct.pack(">qi", 1_000, 0)
    read = read_group("g", record.value or b"")
    assert (read.state, read.protocol_type, read.generation_id) == (EMPTY, None, 0)


def test_records_that_nobody_knows_are_left_alone_and_broken_ones_are_refused() -> None:
    stage = GroupStage()
    stage.shard.replay(b"\0\x63whatever", b"\0\0", -1)
    assert stage.shard.groups == {}
    with pytest.raises(MalformedMessage):
        stage.shard.replay(b"\0", b"", -1)
    with pytest.raises(MalformedMessage):
        stage.shard.replay(b"\0\x01\0\x01g\0\x01t\0\0\0\0", b"\0\x03\0", -1)
    assert stage.shard.groups == {}


def test_keys_of_the_oldest_kind_are_read() -> None:
    stage = GroupStage()
    key = b"\0\0" + text("g") + text("t") + struct.pack(">i", 2)
    stage.shard.replay(key, b"\0\0" + struct.pack(">q", 9) + text("") + struct.pack(">q", 5), -1)
    assert stage.do("fetch g")[0] == "t-2@9"


def test_many_offsets_expire_some_at_a_time() -> None:
    stage = GroupStage(GroupSettings(offsets_retention_ms=60 * MINUTE_MS))
    for group_id in ("g", "h"):
        for first in range(0, 2_500, 500):
            stage.do(f"commit {group_id} offsets=" + ",".join(f"t-{index}@1" for index in range(first, first + 500)))
    assert stage.do(f"wait {60 * MINUTE_MS - 1}") == []
    lines = stage.do("wait 2")
    assert sum("tombstone" in line for line in lines) == 2 * 2_501
    assert lines[-2:] == ["g: Dead", "h: Dead"]
