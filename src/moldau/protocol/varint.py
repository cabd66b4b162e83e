"""Unsigned variable-length integers: seven bits a byte, lowest first, the high bit says that more follow."""

from __future__ import annotations

from moldau.base.errors import MalformedMessage

Buffer = bytes | bytearray | memoryview


def encode_uvarint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


# Lengths and tags are nearly always small: a table look-up instead of a call.
SMALL_UVARINTS = [encode_uvarint(number) for number in range(256)]


def finish_uvarint(data: Buffer, position: int, number: int) -> tuple[int, int]:
    """The rest of a varint whose first byte, `number`, said that more follow; with the position after it."""
    second = data[position]
    if second < 128:
        return number & 127 | second << 7, position + 1
    third = data[position + 1]
    number = number & 127 | (second & 127) << 7 | (third & 127) << 14
    if third < 128:
        return number, position + 2
    fourth = data[position + 2]
    if fourth < 128:
        return number | fourth << 21, position + 3
    fifth = data[position + 3]
    if fifth < 128:
        return number | (fourth & 127) << 21 | fifth << 28, position + 4
    raise MalformedMessage("varint longer than five bytes")
