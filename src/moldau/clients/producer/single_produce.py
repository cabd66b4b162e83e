"""The produce that most are, one batch for one partition: its bytes, and those of the answer that is hoped for.

All but the correlation id and the records of such a request is the same each time, and so is all of the answer but the
correlation id, the offset and the times. Both are taken from the codec once, and put together or compared from then on,
at a fraction of the price. An answer that is not as expected is left to the codec.
"""

from __future__ import annotations

import struct
from typing import Final

from moldau.clients.records import TopicPartition
from moldau.protocol.api import ApiKey
from moldau.protocol.codec import encode
from moldau.protocol.headers import encode_request_header, encode_response_header
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from moldau.protocol.varint import Buffer, encode_uvarint

VERSIONS: Final = range(9, 12)
_EMPTY_RECORDS: Final = b"\1"
_NO_TAGS: Final = b"\0\0\0"  # of the partition, the topic and the request
_HEAD: Final = struct.Struct(">ihhi")  # size, API key, version, correlation id
_HEAD_BYTES: Final = _HEAD.size - 4  # of which the size is not counted
_CORRELATION_BYTES: Final = 4
_FIGURES: Final = struct.Struct(">qqq")  # base offset, log append time, log start offset
_UNLIKELY: Final = 0x7A6B5C4D3E2F1A0B

_pack_head = _HEAD.pack


class SingleProduce:
    """The requests for one partition in one version; `acks` is not 0, and there is no transaction."""

    __slots__ = ("_after", "_answer_bytes", "_before", "_same", "_unpack", "version")

    def __init__(self, of: TopicPartition, version: int, acks: int, timeout_ms: int, client_id: str | None) -> None:
        assert version in VERSIONS
        assert acks, "without an answer there is nothing to expect"
        self.version = version
        name, index = of
        topic = TopicProduceData(name=name, partition_data=[PartitionProduceData(index=index, records=b"")])
        body = encode(ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=[topic]), version)
        assert body.endswith(_EMPTY_RECORDS + _NO_TAGS), "the records of a request come last"
        header = encode_request_header(ApiKey.PRODUCE, version, 0, client_id)
        self._same = header[_HEAD_BYTES:] + body[: -len(_EMPTY_RECORDS + _NO_TAGS)]
        answer = PartitionProduceResponse(
            index=index, base_offset=_UNLIKELY, log_append_time_ms=_UNLIKELY, log_start_offset=_UNLIKELY
        )
        written = ProduceResponse(responses=[TopicProduceResponse(name=name, partition_responses=[answer])])
        frame = encode_response_header(ApiKey.PRODUCE, version, 0) + encode(written, version)
        before, after = frame[_CORRELATION_BYTES:].split(_FIGURES.pack(_UNLIKELY, _UNLIKELY, _UNLIKELY))
        self._before, self._after = before, after
        self._answer_bytes = len(frame)
        self._unpack = struct.Struct(f">i{len(before)}sqqq{len(after)}s").unpack_from

    def parts(self, correlation_id: int, records: Buffer) -> tuple[bytes, bytes, bytes, Buffer, bytes]:
        """A request as pieces to be written one after the other."""
        length = encode_uvarint(len(records) + 1)
        size = _HEAD_BYTES + len(self._same) + len(length) + len(records) + len(_NO_TAGS)
        return _pack_head(size, ApiKey.PRODUCE, self.version, correlation_id), self._same, length, records, _NO_TAGS

    def written(self, frame: memoryview, correlation_id: int) -> tuple[int, int] | None:
        """The base offset and the log append time that an answer tells; None if it is not the one hoped for."""
        if len(frame) != self._answer_bytes:
            return None
        answers, before, base_offset, log_append_time_ms, _, after = self._unpack(frame)
        if answers != correlation_id or before != self._before or after != self._after:
            return None
        return base_offset, log_append_time_ms
