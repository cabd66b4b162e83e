"""Kafka's Uuid: the id of a topic, a log directory, a member or a cluster.

In memory and on the wire it is 16 bytes. As text it is base64 in the alphabet for URLs without padding: 22
characters. Zero means that there is no id; one is the id of the metadata topic of KRaft clusters.
"""

from __future__ import annotations

import os
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError

ZERO_UUID = bytes(16)
METADATA_TOPIC_UUID = bytes(15) + b"\x01"

_TEXT_LENGTH = 22
_DASH = 62  # its place in the alphabet
_TO_URL_ALPHABET = bytes.maketrans(b"+/", b"-_")
_FROM_URL_ALPHABET = str.maketrans("-_+/", "+/**")  # '*' is in no alphabet: it makes decoding fail


def random_uuid(random_bytes: Callable[[int], bytes] = os.urandom) -> bytes:
    """A version 4 UUID whose text does not start with a dash, so that no tool takes it for an option.

    The version's bits keep it apart from the reserved ids. A seeded `Random.randbytes` makes it repeatable.
    """
    uuid = bytearray(random_bytes(16))
    uuid[6] = uuid[6] & 0x0F | 0x40
    uuid[8] = uuid[8] & 0x3F | 0x80
    if uuid[0] >> 2 == _DASH:
        uuid[0] ^= 0b100  # Kafka draws again; one bit turns the dash into an underscore without a loop
    return bytes(uuid)


def uuid_to_text(uuid: bytes) -> str:
    assert len(uuid) == 16
    return b2a_base64(uuid)[:_TEXT_LENGTH].translate(_TO_URL_ALPHABET).decode("ascii")


def uuid_from_text(text: str) -> bytes:
    """The id that a person or a file gives as text; as in Kafka, the padding may be there."""
    digits = text.removesuffix("==")
    if len(digits) == _TEXT_LENGTH and digits.isascii():
        try:
            return a2b_base64(digits.translate(_FROM_URL_ALPHABET) + "==", strict_mode=True)
        except Base64Error:
            pass
    expected = "22 characters of A-Z, a-z, 0-9, '-' and '_'"
    raise ApiError(ErrorCode.INVALID_REQUEST, f"{text[:40]!r} is not an id: expected {expected}")
