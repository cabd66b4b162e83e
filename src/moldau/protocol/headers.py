"""What stands before a message in a frame: which API and version it is, and whose answer it will be.

A request's header is version 2 where the body is flexible and 1 elsewhere, but for ControlledShutdown 0, which has no
client id at all. A response's is version 1 where the body is flexible and 0 elsewhere, but for ApiVersions, whose
answer must be readable before the two sides know each other's versions. The client id is never compact, and the tagged
fields of headers are skipped.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from moldau.base.errors import MalformedMessage
from moldau.protocol.api import KNOWN_KEYS, ApiKey, request_class
from moldau.protocol.decoder import skip_tags
from moldau.protocol.schema import VERSION_MAX, Message
from moldau.protocol.varint import Buffer

_REQUEST = struct.Struct(">hhi")
_REQUEST_WITH_CLIENT = struct.Struct(">hhih")
_CORRELATION = struct.Struct(">i")

# For every request: a bound method, an attribute and a constructor less.
_unpack_with_client = _REQUEST_WITH_CLIENT.unpack_from
_REQUEST_WITH_CLIENT_BYTES = _REQUEST_WITH_CLIENT.size
_WITHOUT_CLIENT = struct.pack(">hh", ApiKey.CONTROLLED_SHUTDOWN, 0)
_new_tuple = tuple.__new__


class RequestHeader(NamedTuple):
    """The start of a request, and where its body begins."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    body: int


# From which version on the bodies of an API are flexible; looked up for every request and response.
_flexible_from: dict[int, int] = {}


def flexible(key: int, version: int) -> bool:
    """Whether the body of a request is flexible, and so its header version 2; unknown APIs have header 1."""
    first = _flexible_from.get(key)
    if first is None:
        if key not in KNOWN_KEYS:
            return False
        versions = request_class(ApiKey(key)).FLEXIBLE
        first = _flexible_from[key] = versions.low if versions.low <= versions.high else VERSION_MAX + 1
    return version >= first


def encode_request_header(key: int, version: int, correlation_id: int, client_id: str | None) -> bytes:
    if key == ApiKey.CONTROLLED_SHUTDOWN and version == 0:
        return _REQUEST.pack(key, version, correlation_id)
    name = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(name)
    tags = b"\0" if flexible(key, version) else b""
    return _REQUEST_WITH_CLIENT.pack(key, version, correlation_id, length) + name + tags


def decode_request_header(frame: Buffer) -> RequestHeader:
    """Read the header of any request, also of an API or version that is not known."""
    try:
        if len(frame) < _REQUEST_WITH_CLIENT_BYTES or frame[:4] == _WITHOUT_CLIENT:
            return _decode_without_client(frame)
        key, version, correlation_id, length = _unpack_with_client(frame)
        position = _REQUEST_WITH_CLIENT_BYTES
        client_id = None
        if length >= 0:
            if length > len(frame) - position:
                raise MalformedMessage(f"client id of {length} bytes does not fit in the request")
            client_id = str(frame[position : position + length], "utf-8")
            position += length
        first = _flexible_from.get(key)
        if version >= first if first is not None else flexible(key, version):
            position = skip_tags(frame, position + 1, frame[position]) if frame[position] else position + 1
        return _new_tuple(RequestHeader, (key, version, correlation_id, client_id, position))
    except UnicodeDecodeError:
        raise MalformedMessage("the client id is not UTF-8") from None
    except (struct.error, IndexError):
        raise MalformedMessage(f"{len(frame)} bytes are too few for a request's header") from None


def _decode_without_client(frame: Buffer) -> RequestHeader:
    """ControlledShutdown 0, which alone has no client id; anything else is too short."""
    key, version, correlation_id = _REQUEST.unpack_from(frame)
    if key == ApiKey.CONTROLLED_SHUTDOWN and version == 0:
        return RequestHeader(key, version, correlation_id, None, _REQUEST.size)
    raise IndexError


def encode_response_header(key: int, version: int, correlation_id: int) -> bytes:
    tags = b"\0" if key != ApiKey.API_VERSIONS and flexible(key, version) else b""
    return _CORRELATION.pack(correlation_id) + tags


def decode_response_header(frame: Buffer, response: type[Message], version: int) -> tuple[int, int]:
    """The correlation id, and where the body begins."""
    try:
        (correlation_id,) = _CORRELATION.unpack_from(frame)
        position = _CORRELATION.size
        if version in response.FLEXIBLE and response.KEY != ApiKey.API_VERSIONS:
            position = skip_tags(frame, position + 1, frame[position])
    except (struct.error, IndexError):
        raise MalformedMessage(f"{len(frame)} bytes are too few for a response's header") from None
    return correlation_id, position
