"""What coordinators store in Kafka's internal topics, and the blobs that members of groups exchange.

Nouns: a stored key (record type and fields), a stored value (version and fields), a tombstone (a null value).
The bytes are Kafka's, so that its tools read our internal topics and we read its.
"""

from __future__ import annotations

import struct
from typing import TypeVar

from moldau.base.errors import MalformedMessage
from moldau.protocol.codec import decode, encode
from moldau.protocol.schema import Message
from moldau.protocol.varint import Buffer

_NUMBER = struct.Struct(">h")
M = TypeVar("M", bound=Message)


def encode_key(key: Message) -> bytes:
    """A stored key: its record type, then its fields."""
    return _NUMBER.pack(key.KEY) + encode(key, 0)


def encode_versioned(value: Message, version: int) -> bytes:
    """A stored value, or a blob of the consumer protocol: its version, then its fields."""
    return _NUMBER.pack(version) + encode(value, version)


def leading_number(data: Buffer) -> int:
    """The record type of a stored key, or the version of a stored value."""
    if len(data) < _NUMBER.size:
        raise MalformedMessage(f"{len(data)} bytes are too few for a stored key or value")
    return int(_NUMBER.unpack_from(data)[0])


def decode_key(cls: type[M], data: Buffer) -> M:
    """A stored key whose record type is that of the class."""
    found = leading_number(data)
    if found != cls.KEY:
        raise MalformedMessage(f"{cls.__name__} has record type {cls.KEY}, not {found}")
    return decode(cls, 0, data, _NUMBER.size)


def decode_versioned(cls: type[M], data: Buffer) -> M:
    """A stored value or blob; of a version newer than known, what the newest known one has."""
    version = leading_number(data)
    if version < cls.VERSIONS.low:
        raise MalformedMessage(f"{cls.__name__} has versions {cls.VERSIONS}, not {version}")
    return decode(cls, min(version, cls.VERSIONS.high), data, _NUMBER.size)
