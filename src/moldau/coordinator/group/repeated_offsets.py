"""The records of a commit that is made again and again, each time with other offsets.

Who commits does so for the same partitions. Then all bytes of the batch are known but the offsets, their leader epochs
and the time, which are fields of a fixed size: they are put between the others, and nothing is encoded anew. The bytes
are those that the general way makes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import NamedTuple

from moldau.coordinator.group.offset_codec import VALUE_VERSION, offset_key
from moldau.coordinator.runtime.result import StoredRecord
from moldau.protocol.messages.offset_commit import OffsetCommitRequest
from moldau.records.batch import HEADER_BYTES
from moldau.records.builder import write_header
from moldau.records.varint import encode_varint

_ATTRIBUTES_AND_TIME = b"\0\0"
_NO_HEADERS = b"\0"
_HEADER_GAP = bytes(HEADER_BYTES)


class _Record(NamedTuple):
    """One partition's: what stands before its value, and what packs the value."""

    before: bytes
    key: bytes
    pack: Callable[..., bytes]
    metadata: bytes


class RepeatedOffsets:
    """Of one request; its metadata has been found short enough, and its offsets do not expire on their own."""

    __slots__ = ("_records", "request")

    def __init__(self, request: OffsetCommitRequest) -> None:
        self.request = request
        self._records: list[_Record] = []
        for topic in request.topics:
            for asked in topic.partitions:
                key = offset_key(request.group_id, topic.name, asked.partition_index)
                metadata = (asked.committed_metadata or "").encode()
                self._records.append(_record(len(self._records), key, metadata))

    def batch(self, offsets: Sequence[tuple[int, int]], now_ms: int) -> tuple[bytearray, list[StoredRecord]]:
        """With the offset and the leader epoch of each partition: the records, and the batch of them."""
        pieces = [_HEADER_GAP]
        records = []
        for (before, key, pack, metadata), (offset, leader_epoch) in zip(self._records, offsets, strict=True):
            value = pack(VALUE_VERSION, offset, leader_epoch, len(metadata), metadata, now_ms)
            pieces += before, value, _NO_HEADERS
            records.append(StoredRecord(key, value))
        data = bytearray().join(pieces)
        write_header(data, 0, len(records), now_ms, now_ms)
        return data, records


def _record(number: int, key: bytes, metadata: bytes) -> _Record:
    value = Struct(f">hqih{len(metadata)}sq")  # version, offset, leader epoch, metadata with its length, time
    body = _ATTRIBUTES_AND_TIME + encode_varint(number) + encode_varint(len(key)) + key + encode_varint(value.size)
    return _Record(encode_varint(len(body) + value.size + len(_NO_HEADERS)) + body, key, value.pack, metadata)
