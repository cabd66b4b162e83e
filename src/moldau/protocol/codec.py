"""Encoding and decoding of messages, by functions compiled once for each class and version.

Nothing interprets a schema while requests are served: the first use of a (class, version) writes straight-line Python
for it (see `encoder` and `decoder`), later uses call it. `python -m moldau.protocol.show Fetch 13` prints the text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from moldau.protocol.decoder import Decoder
from moldau.protocol.encoder import Encoder
from moldau.protocol.schema import Message
from moldau.protocol.source import Source
from moldau.protocol.varint import Buffer

M = TypeVar("M", bound=Message)


def encode(message: Message, version: int) -> bytes:
    """The bytes of a message in a version."""
    return b"".join(encoder(type(message), version)(message))


def encode_parts(message: Message, version: int) -> list[bytes | memoryview]:
    """The same bytes in pieces to write one after the other; record batches in them are not copied."""
    return encoder(type(message), version)(message)


def decode(cls: type[M], version: int, data: Buffer, position: int = 0) -> M:
    """The message at a position of a frame; raises MalformedMessage. Bytes after it are ignored, as Kafka does."""
    return decoder(cls, version)(data, position)[0]


def decode_from(cls: type[M], version: int, data: Buffer, position: int = 0) -> tuple[M, int]:
    """The message at a position, and the position after it."""
    return decoder(cls, version)(data, position)


_encoders: dict[tuple[type[Message], int], Callable[..., list[bytes | memoryview]]] = {}
_decoders: dict[tuple[type[Message], int], Callable[..., tuple[Any, int]]] = {}


def encoder(cls: type[Message], version: int) -> Callable[[Message], list[bytes | memoryview]]:
    found = _encoders.get((cls, version))
    if found is None:
        found = _encoders[cls, version] = encoder_source(cls, version).compile()
    return found


def decoder(cls: type[M], version: int) -> Callable[[Buffer, int], tuple[M, int]]:
    found = _decoders.get((cls, version))
    if found is None:
        found = _decoders[cls, version] = decoder_source(cls, version).compile()
    return found


def encoder_source(cls: type[Message], version: int) -> Source:
    out = Source(cls, version, "encode")
    Encoder(out).write()
    return out


def decoder_source(cls: type[Message], version: int) -> Source:
    out = Source(cls, version, "decode")
    Decoder(out).write()
    return out
