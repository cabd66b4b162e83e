"""Finding batches and message set entries in runs of bytes."""

from __future__ import annotations

import struct

import pytest

from moldau.base.errors import CorruptRecord
from moldau.records.builder import build_batch
from moldau.records.legacy import build_message_set
from moldau.records.walk import Span, batches, spans
from tests.unit.records.record_strategies import some_records


def test_entries_of_all_formats_are_told_apart_by_their_magic() -> None:
    pieces = [build_message_set(some_records(1), 0), build_message_set(some_records(1), 1), build_batch(some_records())]
    at = 0
    expected = []
    for magic, piece in enumerate(pieces):
        expected.append(Span(at, len(piece), magic))
        at += len(piece)
    data = b"".join(pieces)
    assert list(spans(data)) == list(spans(bytearray(data))) == list(spans(memoryview(data))) == expected
    assert list(spans(data, expected[1].position, expected[2].position)) == expected[1:2]


def test_a_partial_last_batch_ends_the_walk() -> None:
    first, second = build_batch(some_records()), build_batch(some_records(2))
    data = first + second
    for cut in range(len(first), len(data)):
        assert [batch.position for batch in batches(data[:cut])] == [0]
    assert [batch.count for batch in batches(data)] == [40, 2]
    assert list(batches(data, 0, len(first) - 1)) == []
    assert list(batches(b"")) == []


@pytest.mark.parametrize(
    ("size_bytes", "magic", "problem"),
    [
        (100, 3, "there is no magic 3"),
        (100, -1, "there is no magic -1"),
        (60, 2, "60 bytes are too few for magic 2"),
        (25, 0, "25 bytes are too few for magic 0"),
        (-5, 1, "-5 bytes are too few for magic 1"),
    ],
)
def test_a_size_or_magic_that_no_format_has_is_corrupt(size_bytes: int, magic: int, problem: str) -> None:
    data = struct.pack(">qiib", 0, size_bytes - 12, 0, magic) + bytes(100)
    with pytest.raises(CorruptRecord) as raised:
        list(spans(data))
    assert raised.value.message == f"entry at 0: {problem}"


def test_message_sets_are_not_batches() -> None:
    with pytest.raises(CorruptRecord, match="entry at 0: its magic is 1, not 2"):
        list(batches(build_message_set(some_records(1), 1)))
