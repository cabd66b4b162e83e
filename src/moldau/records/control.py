"""Control records: what brokers write into a log for each other, and consumers never show.

A control batch has the control bit set and holds one record. Its key is a version and a type, both int16; a type that
is not known is passed over, so that later brokers may add some. The end of a transaction is one of them (KIP-98): its
value is a version (int16) and the epoch of the coordinator that wrote it (int32), by which a partition refuses the
marker of a coordinator that has been replaced.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from moldau.base.errors import CorruptRecord
from moldau.records.batch import NO_LEADER_EPOCH, Producer
from moldau.records.builder import build_batch
from moldau.records.record import Record

_KEY = Struct(">hh")
_END_TRANSACTION_VALUE = Struct(">hi")
_VERSION = 0


class ControlRecordType(IntEnum):
    """What a control record says; all but the first two belong to the metadata log of KRaft."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class EndTransactionMarker(NamedTuple):
    """How a transaction ended, according to the coordinator of this epoch."""

    type: ControlRecordType
    coordinator_epoch: int


def control_record_type(record: Record) -> ControlRecordType:
    """The type in a control record's key; versions after ours only add to the key's end."""
    if record.key is None or len(record.key) < _KEY.size:
        raise CorruptRecord(f"the control record at offset {record.offset} has no type in its key")
    version, number = _KEY.unpack_from(record.key)
    if version < 0:
        raise CorruptRecord(f"the control record at offset {record.offset} has key version {version}")
    try:
        return ControlRecordType(number)
    except ValueError:
        return ControlRecordType.UNKNOWN


def read_end_transaction_marker(record: Record) -> EndTransactionMarker | None:
    """The marker in a control record, or None if it is a control record of another type."""
    kind = control_record_type(record)
    if kind not in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        return None
    if record.value is None or len(record.value) < _END_TRANSACTION_VALUE.size:
        raise CorruptRecord(f"the transaction marker at offset {record.offset} has no coordinator epoch")
    version, coordinator_epoch = _END_TRANSACTION_VALUE.unpack_from(record.value)
    if version < 0:
        raise CorruptRecord(f"the transaction marker at offset {record.offset} has value version {version}")
    return EndTransactionMarker(kind, coordinator_epoch)


def build_control_batch(
    kind: ControlRecordType,
    value: bytes,
    timestamp_ms: int,
    *,
    producer: Producer,
    transactional: bool,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytes:
    """A control batch of one record; control batches are never compressed."""
    assert kind is not ControlRecordType.UNKNOWN
    return build_batch(
        [(base_offset, timestamp_ms, _KEY.pack(_VERSION, kind), value, ())],
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer=producer,
        transactional=transactional,
        control=True,
    )


def build_end_transaction_marker(
    marker: EndTransactionMarker,
    producer_id: int,
    producer_epoch: int,
    timestamp_ms: int,
    *,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytes:
    """The batch that ends a producer's transaction in a partition; it takes no number of the producer's sequence."""
    assert marker.type in (ControlRecordType.ABORT, ControlRecordType.COMMIT)
    return build_control_batch(
        marker.type,
        _END_TRANSACTION_VALUE.pack(_VERSION, marker.coordinator_epoch),
        timestamp_ms,
        producer=Producer(producer_id, producer_epoch),
        transactional=True,
        base_offset=base_offset,
        leader_epoch=leader_epoch,
    )
