"""Committed offsets as bytes of `__consumer_offsets`, by hand: most of what a group coordinator writes and loads.

Every commit is written and replayed, and a coordinator that takes over reads all of them before it serves anybody. The
compiled codec of the messages takes 7 µs for the four steps of a commit, this takes 3. It knows the one form that
Kafka 3.9 writes, key 1 and value 3; anything else goes to the codec, which also says what is wrong with broken bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from sys import intern

from moldau.base.errors import MalformedMessage
from moldau.protocol.codec import decode
from moldau.protocol.stored import decode_versioned, encode_versioned
from moldau.protocol.stored.group_metadata import OffsetCommitKey, OffsetCommitValue

VALUE_VERSION = 3
VALUE_WITH_EXPIRY_VERSION = 1
NONE = -1
LENGTH_MAX = 0x7FFF

_TWO_SHORTS = Struct(">hh")  # the type of a key and the length of the group id
_SHORT = Struct(">h")
_INT = Struct(">i")
_LONG = Struct(">q")
_VALUE_HEAD = Struct(">hqih")  # version, offset, leader epoch, length of the metadata


@dataclass(slots=True, eq=False)
class CommittedOffset:
    """`expire_ms` is -1, or the end that a client of old has set itself; `order` tells the later of two records."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    expire_ms: int = NONE
    order: int = 0


def offset_key(group_id: str, topic: str, partition: int) -> bytes:
    group, name = group_id.encode(), topic.encode()
    return (
        _TWO_SHORTS.pack(OffsetCommitKey.KEY, len(group)) + group + _SHORT.pack(len(name)) + name + _INT.pack(partition)
    )


@lru_cache(maxsize=10_000)  # who commits does it again and again
def read_offset_key(key: bytes) -> tuple[str, tuple[str, int]]:
    """The group and the partition that an offset is of."""
    group_end = 4 + _SHORT.unpack_from(key, 2)[0] if len(key) > 4 else 0
    topic_start = group_end + 2
    if 4 <= group_end < len(key) - 2:
        topic_end = topic_start + _SHORT.unpack_from(key, group_end)[0]
        if topic_start <= topic_end == len(key) - 4:
            try:
                # One object for the name of a topic, however many partitions and groups have it.
                topic = intern(key[topic_start:topic_end].decode())
                return key[4:group_end].decode(), (topic, _INT.unpack_from(key, topic_end)[0])
            except UnicodeDecodeError as error:
                raise MalformedMessage("a key of an offset is no UTF-8") from error
    found = decode(OffsetCommitKey, 0, key, 2)
    return found.group, (found.topic, found.partition)


def offset_value(committed: CommittedOffset) -> bytes:
    metadata = committed.metadata.encode()
    if committed.expire_ms == NONE and len(metadata) <= LENGTH_MAX:
        head = _VALUE_HEAD.pack(VALUE_VERSION, committed.offset, committed.leader_epoch, len(metadata))
        return head + metadata + _LONG.pack(committed.commit_ms)
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_ms,
        expire_timestamp=committed.expire_ms,
    )
    return encode_versioned(value, VALUE_WITH_EXPIRY_VERSION)


def read_offset_value(value: bytes, order: int) -> CommittedOffset:
    if len(value) >= _VALUE_HEAD.size:
        version, offset, leader_epoch, length = _VALUE_HEAD.unpack_from(value)
        if version == VALUE_VERSION and length == len(value) - _VALUE_HEAD.size - 8:
            metadata = "" if not length else _text(value[_VALUE_HEAD.size : -8])
            return CommittedOffset(
                offset, leader_epoch, metadata, _LONG.unpack_from(value, len(value) - 8)[0], NONE, order
            )
    found = decode_versioned(OffsetCommitValue, value)
    return CommittedOffset(
        found.offset, found.leader_epoch, found.metadata, found.commit_timestamp, found.expire_timestamp, order
    )


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise MalformedMessage("the metadata of an offset is no UTF-8") from error
