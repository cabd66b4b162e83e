"""Headers by API and version, with the exceptions that Kafka's history left."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.base.errors import MalformedMessage
from moldau.protocol.api import ApiKey, response_class
from moldau.protocol.headers import (
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
)

SERVED = [(key, version) for key in ApiKey for version in range(response_class(key).VERSIONS.high + 1)]


@pytest.mark.parametrize("client_id", [None, "", "client", "größe"])
def test_request_headers_round_trip_for_every_api_and_version(client_id: str | None) -> None:
    for key, version in SERVED:
        encoded = encode_request_header(key, version, 77, client_id)
        expected = None if (key, version) == (ApiKey.CONTROLLED_SHUTDOWN, 0) else client_id
        assert decode_request_header(encoded + b"body") == (key, version, 77, expected, len(encoded))


def test_a_flexible_request_has_tagged_fields_in_its_header_and_a_plain_client_id() -> None:
    assert encode_request_header(ApiKey.FETCH, 12, 1, "me") == struct.pack(">hhih", 1, 12, 1, 2) + b"me\0"
    assert encode_request_header(ApiKey.FETCH, 11, 1, "me") == struct.pack(">hhih", 1, 11, 1, 2) + b"me"


def test_controlled_shutdown_0_has_no_client_id() -> None:
    assert encode_request_header(ApiKey.CONTROLLED_SHUTDOWN, 0, 5, "me") == struct.pack(">hhi", 7, 0, 5)


def test_the_response_header_of_api_versions_is_version_0_for_ever() -> None:
    assert encode_response_header(ApiKey.API_VERSIONS, 4, 9) == struct.pack(">i", 9)
    assert encode_response_header(ApiKey.METADATA, 9, 9) == struct.pack(">i", 9) + b"\0"
    assert encode_response_header(ApiKey.METADATA, 8, 9) == struct.pack(">i", 9)


def test_response_headers_round_trip() -> None:
    for key, version in SERVED:
        encoded = encode_response_header(key, version, 123)
        assert decode_response_header(encoded + b"rest", response_class(key), version) == (123, len(encoded))


def test_unknown_tagged_fields_of_a_header_are_skipped() -> None:
    header = struct.pack(">hhih", 1, 12, 1, -1) + b"\x02\x00\x03abc\x85\x01\x00"
    assert decode_request_header(header + b"body").body == len(header)


def test_an_unknown_api_still_has_a_readable_header() -> None:
    assert decode_request_header(struct.pack(">hhih", 999, 3, 42, 1) + b"x") == (999, 3, 42, "x", 11)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\0",
        struct.pack(">hhi", 1, 12, 1),
        struct.pack(">hhih", 1, 4, 1, 30) + b"short",
        struct.pack(">hhih", 1, 4, 1, 2) + b"\xff\xfe",
        struct.pack(">hhih", 1, 12, 1, -1) + b"\xff\xff\xff\xff\x0f",
        struct.pack(">hhih", 1, 12, 1, -1) + b"\x01\x00\x7f",
        struct.pack(">hhih", 1, 12, 1, -1),
    ],
)
def test_no_header_is_a_clean_error(frame: bytes) -> None:
    with pytest.raises(MalformedMessage):
        decode_request_header(frame)


@given(st.binary(max_size=64))
def test_any_bytes_are_a_header_or_a_clean_error(frame: bytes) -> None:
    try:
        header = decode_request_header(memoryview(frame))
    except MalformedMessage:
        return
    assert 0 < header.body <= len(frame)
