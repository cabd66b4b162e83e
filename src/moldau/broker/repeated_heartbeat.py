"""Heartbeats that are like one before, but for their correlation id: known by their bytes, answered from a template.

A member sends the same request every few seconds for as long as a generation lasts, and a broker may coordinate many
thousands of members. Only what says "all is well" is answered here; everything else takes the general way.
"""

from __future__ import annotations

import logging
import struct
from typing import TYPE_CHECKING

from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.request_log import logger as request_log
from moldau.protocol.api import ApiKey
from moldau.protocol.codec import encode
from moldau.protocol.headers import RequestHeader, encode_request_header, encode_response_header
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

if TYPE_CHECKING:
    from moldau.broker.node import Node

DEBUG = logging.DEBUG
_CORRELATION_AT = 8  # after the size, the API key and the version
_REST_AT = 12


def expect_repetition(node: Node, request: HeartbeatRequest, call: Call) -> None:
    """After a heartbeat that found all well: the next one will be the same, unless the connection is for producing."""
    connection = call.answer.connection
    if connection.shortcut is None or isinstance(connection.shortcut, RepeatedHeartbeat):
        connection.shortcut = RepeatedHeartbeat(node, request, call.header)


class RepeatedHeartbeat:
    """Takes the heartbeats of a connection that are those of one member in one generation."""

    __slots__ = ("_before", "_groups", "_pack", "_request", "_rest", "_size", "_tail")

    def __init__(self, node: Node, request: HeartbeatRequest, header: RequestHeader) -> None:
        version = header.api_version
        frame = encode_request_header(ApiKey.HEARTBEAT, version, 0, header.client_id) + encode(request, version)
        frame = struct.pack(">i", len(frame)) + frame
        self._groups = node.groups
        self._request = request
        self._size = len(frame)
        self._before, self._rest = frame[:_CORRELATION_AT], frame[_REST_AT:]
        answer = encode_response_header(ApiKey.HEARTBEAT, version, 0) + encode(HeartbeatResponse(), version)
        self._tail = answer[4:]
        self._pack = struct.Struct(f">i4s{len(self._tail)}s").pack

    def __call__(self, data: memoryview, start: int, filled: int, _size_max: int) -> tuple[bytes, int, int]:
        """A `Shortcut`; the one that matched before was no larger than is allowed."""
        end = start + self._size
        if (
            end > filled
            or data[start + _REST_AT : end] != self._rest
            or data[start : start + _CORRELATION_AT] != self._before
            or request_log.isEnabledFor(DEBUG)
        ):
            return b"", 0, start
        try:
            is_well = self._groups.is_well(self._request)
        except ApiError:
            is_well = False
        if not is_well:
            return b"", 0, start
        at = start + _CORRELATION_AT
        return self._pack(4 + len(self._tail), bytes(data[at : at + 4]), self._tail), 1, end
