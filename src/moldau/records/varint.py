"""Zigzag variable-length integers, as v2 records use them (the encoding is Protocol Buffers').

Seven bits a byte, least significant first, the top bit says that more follow; zigzag makes small negative
numbers small (0, -1, 1, -2 → 0, 1, 2, 3). A varint is 32 bits in at most 5 bytes; a varlong, which only the
timestamp delta is, 64 bits in at most 10. Hot loops read the first two bytes inline, call `finish_varint` for
the rest, and take encodings of small numbers from `SMALL_VARINTS`.
"""

from __future__ import annotations

from moldau.base.errors import CorruptRecord

VARINT_BYTES_MAX = 5
VARLONG_BYTES_MAX = 10


def wrap_int64(number: int) -> int:
    """The number that 64 bits hold of it, as sums and differences of timestamps wrap around in the Java client."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def encode_varint(number: int) -> bytes:
    """A signed number of at most 64 bits; a varint and a varlong of the same number are the same bytes."""
    zigzag = (number << 1) ^ (number >> 63)
    encoded = bytearray()
    while zigzag > 127:
        encoded.append(zigzag & 127 | 128)
        zigzag >>= 7
    encoded.append(zigzag)
    return bytes(encoded)


# All numbers that are not negative and whose encoding is one or two bytes.
SMALL_VARINTS = (
    *[bytes((low,)) for low in range(0, 128, 2)],
    *[bytes((low, high)) for high in range(1, 128) for low in range(128, 256, 2)],
)
SMALL_VARINTS_END = len(SMALL_VARINTS)


def finish_varint(data: bytes, position: int, low: int, bytes_max: int = VARINT_BYTES_MAX) -> tuple[int, int]:
    """The unsigned (still zigzag) number whose first byte was `low`, and the position after it."""
    number = low & 127
    shift = 7
    bits = 32 if bytes_max == VARINT_BYTES_MAX else 64
    while True:
        byte = data[position]
        position += 1
        number |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
        if shift == 7 * bytes_max:
            raise CorruptRecord(f"a variable-length integer goes on after {bytes_max} bytes")
    if number >> bits:
        raise CorruptRecord(f"a variable-length integer does not fit in {bits} bits")
    return number, position


def decode_varint(data: bytes, position: int, bytes_max: int = VARINT_BYTES_MAX) -> tuple[int, int]:
    """The signed number at `position` and the position after it; `IndexError` where the data ends before it."""
    number = data[position]
    position += 1
    if number > 127:
        number, position = finish_varint(data, position, number, bytes_max)
    return (number >> 1) ^ -(number & 1), position
