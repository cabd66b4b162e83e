"""From a frame to a handler and back, without a network."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any, cast

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, MalformedMessage
from moldau.broker.call import Call
from moldau.broker.dispatcher import Dispatcher
from moldau.broker.handlers import Registration, all_registrations, registration
from moldau.protocol.api import ApiKey
from moldau.protocol.codec import decode, encode
from moldau.protocol.headers import encode_request_header
from moldau.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from moldau.protocol.schema import Message


class KeptAnswer:
    """An answer that stays here instead of going to a socket."""

    def __init__(self) -> None:
        self.connection = SimpleNamespace(session=None)
        self.parts: list[bytes] | None = None

    def send(self, parts: list[bytes]) -> None:
        assert self.parts is None
        self.parts = parts


class Node:
    """As much of a node as ApiVersions needs."""

    def __init__(self, *more: Registration) -> None:
        known = all_registrations()
        self.registrations = {ApiKey.API_VERSIONS: known[ApiKey.API_VERSIONS], **{one.key: one for one in more}}


def ask(node: Node, request: Message, version: int, answer: KeptAnswer | None = None) -> bytes:
    """The bytes that a request is answered with."""
    header = encode_request_header(request.KEY, version, 7, "test")
    return ask_bytes(node, header + encode(request, min(version, request.VERSIONS.high)), answer)


def ask_bytes(node: Node, frame: bytes, answer: KeptAnswer | None = None) -> bytes:
    answer = answer or KeptAnswer()
    Dispatcher(node, node.registrations)(memoryview(frame), cast(Any, answer))
    assert answer.parts is not None
    assert struct.unpack_from(">i", answer.parts[0]) == (7,)
    return b"".join(answer.parts)


def software(name: str) -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name=name, client_software_version="1.0")


@pytest.mark.parametrize("version", range(5))
def test_api_versions_lists_exactly_what_has_a_handler(version: int) -> None:
    node = Node(registration(ApiKey.HEARTBEAT, "1-3", lambda *_: None))
    request = software("kafka-client") if version >= 3 else ApiVersionsRequest()
    response = decode(ApiVersionsResponse, version, ask(node, request, version), 4)
    listed = [(entry.api_key, entry.min_version, entry.max_version) for entry in response.api_keys]
    assert (response.error_code, listed) == (0, [(12, 1, 3), (18, 0, 4)])


def test_an_unknown_version_of_api_versions_is_answered_in_version_0_with_the_list() -> None:
    response = decode(ApiVersionsResponse, 0, ask(Node(), software("future"), 127), 4)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(entry.api_key, entry.max_version) for entry in response.api_keys] == [(18, 4)]


def test_the_clients_software_is_remembered_and_must_look_like_a_name() -> None:
    answer = KeptAnswer()
    ask(Node(), software("librdkafka"), 3, answer)
    assert answer.connection.session.client_software_name == "librdkafka"
    for bad in ("", "-x", "a b", "x" + chr(10)):
        response = decode(ApiVersionsResponse, 3, ask(Node(), software(bad), 3), 4)
        assert response.error_code == ErrorCode.INVALID_REQUEST


def failing(error: Exception) -> Node:
    def handle(_node: object, _request: object, _call: Call) -> Message | None:
        raise error

    return Node(registration(ApiKey.HEARTBEAT, "0-4", handle))


def test_an_expected_failure_becomes_the_apis_own_error() -> None:
    node = failing(ApiError(ErrorCode.UNKNOWN_MEMBER_ID, "who are you"))
    response = decode(HeartbeatResponse, 4, ask(node, HeartbeatRequest(), 4), 5)
    assert response.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_defect_is_logged_and_answered(caplog: pytest.LogCaptureFixture) -> None:
    response = decode(HeartbeatResponse, 0, ask(failing(ZeroDivisionError()), HeartbeatRequest(), 0), 4)
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert "Heartbeat version 0 of 'test' failed: HeartbeatRequest(" in caplog.text
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize(
    ("key", "version", "why"),
    [
        (12, 9, "Heartbeat version 9 was sent, but no version of it is served here"),
        (18, -1, ""),
        (1000, 0, "API 1000 version 0 was sent"),
        (-5, 0, "API -5 version 0 was sent"),
    ],
)
def test_what_is_not_served_is_refused(key: int, version: int, why: str) -> None:
    frame = struct.pack(">hhihs", key, version, 7, 1, b"c") + b"\0"
    if key == ApiKey.API_VERSIONS:
        assert decode(ApiVersionsResponse, 0, ask_bytes(Node(), frame), 4).error_code == ErrorCode.UNSUPPORTED_VERSION
        return
    with pytest.raises(MalformedMessage, match=why):
        ask_bytes(Node(), frame)


def test_a_response_without_an_error_code_needs_its_own_way_to_fail() -> None:
    with pytest.raises(AssertionError, match="on_error"):
        registration(ApiKey.PRODUCE, "0-9", lambda *_: None)
    with pytest.raises(AssertionError, match="has versions 0-4"):
        registration(ApiKey.HEARTBEAT, "0-5", lambda *_: None)
