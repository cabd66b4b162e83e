"""The hashes that decide which partition a key, a group or a transactional id belongs to.

They must agree with the Java clients and brokers to the bit: records of one key written by two clients go to
one partition, and every broker finds the same coordinator. Both hashes are Java `int`s, hence signed.

Two rules make a partition of them, and they differ for negative hashes. The producer's partitioner drops the
sign bit of the murmur2 of a record's key. The coordinators take the absolute value of Java's `hashCode`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from functools import lru_cache

_MASK = 0xFFFFFFFF
_SIGN = 0x80000000
_INT_MIN = -0x80000000
_INT_MAX = 0x7FFFFFFF

_SEED = 0x9747B28C
_M = 0x5BD1E995


def java_hash(text: str) -> int:
    """Java's `String.hashCode`, counted over UTF-16 code units."""
    units: Iterable[int] = text.encode() if text.isascii() else _utf_16_units(text)
    value = 0
    for unit in units:
        value = (value * 31 + unit) & _MASK
    return (value ^ _SIGN) - _SIGN


def coordinator_partition(group_or_transactional_id: str, partitions: int) -> int:
    """The partition of `__consumer_offsets` or `__transaction_state` whose leader is the coordinator."""
    value = java_hash(group_or_transactional_id)
    # Java's abs of the smallest int is negative; Kafka takes 0 for it.
    return 0 if value == _INT_MIN else abs(value) % partitions


def murmur2(data: bytes) -> int:
    """The 32-bit murmur2 of Kafka's own seed."""
    length = len(data)
    value = _SEED ^ length
    for word in _unpack_words(length >> 2)(data):
        word = word * _M & _MASK
        value = (value * _M ^ (word ^ word >> 24) * _M) & _MASK
    tail = length & 3
    if tail:
        value = (value ^ int.from_bytes(data[-tail:], "little")) * _M & _MASK
    value = (value ^ value >> 13) * _M & _MASK
    return (value ^ value >> 15 ^ _SIGN) - _SIGN


def key_partition(key: bytes, partitions: int) -> int:
    """The partition of a record with this key, as the default partitioner of the Java producer has it."""
    return (murmur2(key) & _INT_MAX) % partitions


def _utf_16_units(text: str) -> tuple[int, ...]:
    data = text.encode("utf-16-le", "surrogatepass")
    return struct.unpack(f"<{len(data) // 2}H", data)


@lru_cache(maxsize=256)
def _unpack_words(count: int) -> Callable[[bytes], tuple[int, ...]]:
    return struct.Struct(f"<{count}I").unpack_from
