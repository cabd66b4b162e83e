"""Control records: transaction markers and the types of others."""

from __future__ import annotations

import pytest

from moldau.base.errors import CorruptRecord
from moldau.records.batch import Producer, RecordBatch
from moldau.records.control import (
    ControlRecordType,
    EndTransactionMarker,
    build_control_batch,
    build_end_transaction_marker,
    control_record_type,
    read_end_transaction_marker,
)
from moldau.records.reader import read_batch
from moldau.records.record import Record


@pytest.mark.parametrize("kind", [ControlRecordType.ABORT, ControlRecordType.COMMIT])
def test_a_marker_is_read_as_written(kind: ControlRecordType) -> None:
    marker = EndTransactionMarker(kind, 12)
    data = build_end_transaction_marker(marker, 1000, 3, 99, base_offset=7, leader_epoch=2)
    batch = RecordBatch(data)
    batch.check()
    (record,) = read_batch(batch)
    assert (batch.is_control, batch.is_transactional, batch.producer) == (True, True, Producer(1000, 3, -1))
    assert (len(data), batch.base_offset, batch.leader_epoch, batch.max_timestamp) == (78, 7, 2, 99)
    assert (record.key, record.value) == (bytes([0, 0, 0, kind]), bytes([0, 0, 0, 0, 0, 12]))
    assert read_end_transaction_marker(record) == marker


def test_other_types_are_known_by_name_or_passed_over() -> None:
    data = build_control_batch(
        ControlRecordType.LEADER_CHANGE, b"anything", 5, producer=Producer(), transactional=False
    )
    (record,) = read_batch(RecordBatch(data))
    assert control_record_type(record) is ControlRecordType.LEADER_CHANGE
    assert read_end_transaction_marker(record) is None
    assert control_record_type(Record(0, 0, b"\0\0\x7f\xff", None)) is ControlRecordType.UNKNOWN
    assert control_record_type(Record(0, 0, b"\0\x05\0\1and more", None)) is ControlRecordType.COMMIT


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        (None, None, "has no type in its key"),
        (b"\0\0\0", None, "has no type in its key"),
        (b"\xff\xff\0\0", None, "has key version -1"),
        (b"\0\0\0\1", None, "has no coordinator epoch"),
        (b"\0\0\0\1", bytes(5), "has no coordinator epoch"),
        (b"\0\0\0\0", b"\xff\xff" + bytes(4), "has value version -1"),
    ],
)
def test_a_marker_that_is_not_one_is_corrupt(key: bytes | None, value: bytes | None, problem: str) -> None:
    with pytest.raises(CorruptRecord, match=f"at offset 3 {problem}"):
        read_end_transaction_marker(Record(3, 0, key, value))
