"""Requests of every API and version, bent in all the ways that have broken decoders."""

from __future__ import annotations

import random
import struct

from moldau.protocol.api import ApiKey, request_class
from moldau.protocol.codec import encode
from moldau.protocol.headers import encode_request_header
from tests.protocol.instances import instance

NUMBERS = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\0", b"\xff\xff\xff\xff\x0f", b"\x80" * 6)


def valid_requests(seed: int) -> list[bytes]:
    """One random request for every API and version, without the size in front."""
    rng = random.Random(seed)
    requests = []
    for key in ApiKey:
        cls = request_class(key)
        for version in range(cls.VERSIONS.low, cls.VERSIONS.high + 1):
            header = encode_request_header(key, version, rng.randrange(2**31), "fuzz")
            requests.append(header + encode(instance(cls, version, rng), version))
    return requests


def mutate(request: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """The request with one to four things wrong with it."""
    data = bytearray(request)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        position = rng.randrange(len(data) + 1)
        match rng.randrange(7):
            case 0 if data:
                data[position % len(data)] = rng.randrange(256)
            case 1 if data:
                data[position % len(data)] ^= 1 << rng.randrange(8)
            case 2:
                del data[position:]
            case 3:
                data[position:position] = rng.randbytes(rng.randrange(1, 20))
            case 4:
                number = rng.choice(NUMBERS)
                data[position : position + len(number)] = number
            case 5:
                del data[position : position + rng.randrange(1, 8)]
            case _:
                data[position:] = rng.choice(others)[position:]
    return bytes(data) or b"\0"


def framed(request: bytes) -> bytes:
    return struct.pack(">i", len(request)) + request


def misframed(request: bytes, rng: random.Random) -> bytes:
    """A request whose size is a lie: too large, too small, negative, or with half the bytes to follow."""
    size = rng.choice((2**31 - 1, -1, -(2**31), 0, 1, len(request) - 1, len(request) + 1, rng.randrange(2**31)))
    return struct.pack(">i", size) + request[: rng.randrange(len(request) + 1)]
