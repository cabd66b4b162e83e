"""Commits that are like one before, but for their correlation id and offsets: known by their bytes, written at once.

A consumer commits the same partitions again and again. After two such commits in turn a connection takes the next ones
without decoding them. What is decided is decided by the same code; what is left out is the way there and back, and the
wait for others to write together with. Where records have to wait for followers, or anything is unusual, the general
way is taken.
"""

from __future__ import annotations

import logging
import struct
from typing import TYPE_CHECKING, Final

from moldau.broker.call import Call
from moldau.broker.request_log import logger as request_log
from moldau.coordinator.group.repeated_offsets import RepeatedOffsets
from moldau.protocol.api import ApiKey
from moldau.protocol.codec import encode
from moldau.protocol.headers import encode_request_header, encode_response_header
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

if TYPE_CHECKING:
    from moldau.broker.node import Node

VERSIONS: Final = range(6, 10)  # with leader epochs, and topics by their names
PARTITIONS_MAX: Final = 16
DEBUG = logging.DEBUG
_CORRELATION_AT: Final = 8  # after the size, the API key and the version
_REST_AT: Final = 12
_OFFSET: Final = struct.Struct(">qi")  # the offset of a partition, and its leader epoch
_UNLIKELY: Final = (0x7A6B5C4D3E2F1A0B, 0x1A2B3C4D)

_unpack_offset = _OFFSET.unpack_from


def expect_repetition(node: Node, request: OffsetCommitRequest, call: Call, response: OffsetCommitResponse) -> None:
    """After a commit that went well: if it is the second for the same partitions in turn, there will be more."""
    version, session = call.header.api_version, call.session
    named = [(topic.name, one.partition_index) for topic in request.topics for one in topic.partitions]
    if session.last_committed != named:
        session.last_committed = named
        return
    is_well = all(not one.error_code for topic in response.topics for one in topic.partitions)
    if is_well and version in VERSIONS and len(named) <= PARTITIONS_MAX:
        frame = encode_request_header(ApiKey.OFFSET_COMMIT, version, 0, call.header.client_id)
        frame += encode(_marked(request), version)
        same = _around(struct.pack(">i", len(frame)) + frame)
        if len(same) == 2 + len(named):  # the bytes of a text may be those of the mark
            call.answer.connection.shortcut = RepeatedCommit(node, request, version, same, response)


class RepeatedCommit:
    """Takes the commits of a connection that are of one group, by one member in one generation, for some partitions."""

    __slots__ = ("_again", "_named", "_node", "_offsets_at", "_pack", "_same", "_size", "_tail", "_version")

    def __init__(
        self,
        node: Node,
        request: OffsetCommitRequest,
        version: int,
        same: list[tuple[int, bytes]],
        response: OffsetCommitResponse,
    ) -> None:
        self._node = node
        self._again = RepeatedOffsets(request)
        self._version = version
        self._named = [(topic.name, one.partition_index) for topic in request.topics for one in topic.partitions]
        self._same = same
        self._offsets_at = [at + len(piece) for at, piece in same[1:-1]]
        self._size = same[-1][0] + len(same[-1][1])
        answer = encode_response_header(ApiKey.OFFSET_COMMIT, version, 0) + encode(response, version)
        self._tail = answer[4:]
        self._pack = struct.Struct(f">i4s{len(self._tail)}s").pack

    def __call__(self, data: memoryview, start: int, filled: int, _size_max: int) -> tuple[bytes, int, int]:
        """A `Shortcut`; the one that matched before was no larger than is allowed."""
        end = start + self._size
        if end > filled or request_log.isEnabledFor(DEBUG):
            return b"", 0, start
        for at, same in self._same:
            if data[start + at : start + at + len(same)] != same:
                return b"", 0, start
        topics = self._node.metadata.topics
        for name, index in self._named:
            if index not in topics.get(name, ()):
                return b"", 0, start
        offsets = [_unpack_offset(data, start + at) for at in self._offsets_at]
        if not self._node.groups.commit_now(self._again, offsets, self._version):
            return b"", 0, start
        at = start + _CORRELATION_AT
        return self._pack(4 + len(self._tail), bytes(data[at : at + 4]), self._tail), 1, end


def _marked(request: OffsetCommitRequest) -> OffsetCommitRequest:
    """The same request with offsets that are found again among its bytes."""
    offset, epoch = _UNLIKELY
    topics = [
        OffsetCommitRequestTopic(
            name=topic.name,
            partitions=[
                OffsetCommitRequestPartition(
                    partition_index=one.partition_index,
                    committed_offset=offset,
                    committed_leader_epoch=epoch,
                    committed_metadata=one.committed_metadata,
                )
                for one in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return OffsetCommitRequest(
        group_id=request.group_id,
        generation_id_or_member_epoch=request.generation_id_or_member_epoch,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        topics=topics,
    )


def _around(frame: bytes) -> list[tuple[int, bytes]]:
    """What is the same in every such request, with its place: the head, and what stands around the offsets."""
    pieces = frame[_REST_AT:].split(_OFFSET.pack(*_UNLIKELY))
    same = [(0, frame[:_CORRELATION_AT])]
    at = _REST_AT
    for piece in pieces:
        same.append((at, piece))
        at += len(piece) + _OFFSET.size
    return same
