"""Kafka's Uuid: random ones, and their text."""

from __future__ import annotations

import re
import uuid
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.ids import METADATA_TOPIC_UUID, ZERO_UUID, random_uuid, uuid_from_text, uuid_to_text


def test_reserved_ids_have_kafkas_text() -> None:
    assert uuid_to_text(ZERO_UUID) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert uuid_to_text(METADATA_TOPIC_UUID) == "AAAAAAAAAAAAAAAAAAAAAQ"


def test_text_uses_the_alphabet_for_urls() -> None:
    assert uuid_to_text(b"\xff" * 16) == "_____________________w"
    assert uuid_to_text(b"\xfb\xef\xbe" * 5 + b"\xfb") == "--------------------" + "-w"
    assert uuid_from_text("_____________________w") == b"\xff" * 16


@given(st.binary(min_size=16, max_size=16))
def test_text_round_trip(value: bytes) -> None:
    text = uuid_to_text(value)
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", text)
    assert uuid_from_text(text) == value
    assert uuid_from_text(text + "==") == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "=",
        "AAAAAAAAAAAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAAAA=",
        "AAAAAAAAAAAAAAAAAAAAAA====",
        "AAAAAAAAAAAAAAAAAAAA==",
        "AAAAAAAAAA==AAAAAAAAAA",
        "+AAAAAAAAAAAAAAAAAAAAA",
        "/AAAAAAAAAAAAAAAAAAAAA",
        "AAAAAAAAAA\nAAAAAAAAAAA",
        "ÄAAAAAAAAAAAAAAAAAAAAA",
        "123e4567-e89b-12d3-a456-426614174000",
        "A" * 100_000,
    ],
)
def test_what_is_not_an_id_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ApiError) as refused:
        uuid_from_text(text)
    assert refused.value.code is ErrorCode.INVALID_REQUEST
    assert repr(text[:40]) in str(refused.value)
    assert len(str(refused.value)) < 200


@given(st.text("Aq9-_=+/ é", min_size=20, max_size=26))
def test_any_text_is_an_id_or_refused(text: str) -> None:
    try:
        value = uuid_from_text(text)
    except ApiError:
        return
    assert len(value) == 16


@given(st.binary(min_size=16, max_size=16))
def test_random_ids_are_version_4_and_never_look_like_an_option(entropy: bytes) -> None:
    value = random_uuid(lambda size: entropy[:size])
    assert uuid.UUID(bytes=value).version == 4
    assert uuid.UUID(bytes=value).variant == uuid.RFC_4122
    assert not uuid_to_text(value).startswith("-")
    assert value not in (ZERO_UUID, METADATA_TOPIC_UUID)


@pytest.mark.parametrize("first", [0xF8, 0xF9, 0xFA, 0xFB])
def test_a_leading_dash_becomes_an_underscore(first: int) -> None:
    assert uuid_to_text(random_uuid(lambda size: bytes([first]) + bytes(size - 1))).startswith("_")


def test_random_ids_differ_and_repeat_with_a_seed() -> None:
    assert len({random_uuid() for _ in range(1000)}) == 1000
    assert random_uuid(Random(7).randbytes) == random_uuid(Random(7).randbytes)
