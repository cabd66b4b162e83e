"""Offsets by hand are the same bytes as by the compiled codec, and broken bytes are refused as it refuses them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.base.errors import MalformedMessage
from moldau.coordinator.group.offset_codec import (
    NONE,
    CommittedOffset,
    offset_key,
    offset_value,
    read_offset_key,
    read_offset_value,
)
from moldau.protocol.stored import encode_key, encode_versioned
from moldau.protocol.stored.group_metadata import OffsetCommitKey, OffsetCommitValue

texts = st.text(st.characters(codec="utf-8"), max_size=20)
int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)


@settings(deadline=None)
@given(texts, texts, int32)
def test_keys_are_the_codecs(group_id: str, topic: str, partition: int) -> None:
    key = offset_key(group_id, topic, partition)
    assert key == encode_key(OffsetCommitKey(group=group_id, topic=topic, partition=partition))
    assert read_offset_key(key) == (group_id, (topic, partition))


@settings(deadline=None)
@given(int64, int32, texts, int64, st.one_of(st.just(NONE), int64))
def test_values_are_the_codecs(offset: int, epoch: int, metadata: str, commit_ms: int, expire_ms: int) -> None:
    value = offset_value(CommittedOffset(offset, epoch, metadata, commit_ms, expire_ms))
    message = OffsetCommitValue(
        offset=offset, leader_epoch=epoch, metadata=metadata, commit_timestamp=commit_ms, expire_timestamp=expire_ms
    )
    assert value == encode_versioned(message, 3 if expire_ms == NONE else 1)
    read = read_offset_value(value, 7)
    assert (read.offset, read.metadata, read.commit_ms, read.expire_ms) == (offset, metadata, commit_ms, expire_ms)
    assert (read.leader_epoch, read.order) == (epoch if expire_ms == NONE else -1, 7)


@settings(deadline=None)
@given(st.binary(max_size=40))
def test_whatever_the_bytes_are_they_are_read_or_refused(data: bytes) -> None:
    for read in (lambda: read_offset_key(b"\0\x01" + data), lambda: read_offset_value(b"\0\x03" + data, 0)):
        try:
            read()
        except MalformedMessage:
            continue


@pytest.mark.parametrize("cut", range(2, 16))
def test_a_key_that_is_cut_short_is_refused(cut: int) -> None:
    key = offset_key("abc", "topic", 1)
    assert len(key) == 18
    with pytest.raises(MalformedMessage):
        read_offset_key(key[:cut])
