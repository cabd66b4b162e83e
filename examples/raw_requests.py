"""A request as it travels: four bytes of length, a header with a client id and the number 0, a body."""

from __future__ import annotations

import socket
import struct
from typing import TypeVar

from moldau.protocol.api import ApiKey, response_class
from moldau.protocol.codec import decode, encode
from moldau.protocol.headers import decode_response_header, encode_request_header
from moldau.protocol.schema import Message

Answer = TypeVar("Answer", bound=Message)
CLIENT_ID = "client-id"
CORRELATION_ID = 0
PATIENCE_S = 60


def ask(bootstrap_servers: str, request: Message, version: int, answer: type[Answer]) -> Answer:
    """Send one request to the first broker that is named, and wait for its answer."""
    host, _, port = bootstrap_servers.split(",")[0].rpartition(":")
    with socket.create_connection((host, int(port)), PATIENCE_S) as connection:
        header = encode_request_header(request.KEY, version, CORRELATION_ID, CLIENT_ID)
        frame = header + encode(request, version)
        connection.sendall(struct.pack(">i", len(frame)) + frame)
        (length,) = struct.unpack(">i", _read(connection, 4))
        data = _read(connection, length)
    assert response_class(ApiKey(request.KEY)) is answer
    correlation_id, position = decode_response_header(data, answer, version)
    assert correlation_id == CORRELATION_ID
    return decode(answer, version, data, position)


def _read(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise ConnectionError("the broker closed the connection")
        data += piece
    return bytes(data)
