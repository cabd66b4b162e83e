"""Producer snapshots, byte by byte as Apache Kafka 3.9.1 writes them."""

from __future__ import annotations

import struct

import pytest
from crc32c import crc32c

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import CorruptRecord
from moldau.storage.producer_append import AppendOrigin
from moldau.storage.producer_entry import AppendedBatch, ProducerEntry
from moldau.storage.producer_snapshot import decode_snapshot, encode_snapshot
from tests.unit.storage.producer_batches import NOW_MS, Partition, marker_batch, records_batch

EMPTY = bytes.fromhex("0001 48674bc7 00000000")
# An idempotent producer 0, and a transactional producer 1 with an open transaction; the log ends at 13.
REAL = bytes.fromhex(
    """
    0001 43f47e71 00000002
    0000000000000000 0000 0000000b 000000000000000b 00000000 000001a1e0f85212 ffffffff ffffffffffffffff
    0000000000000001 0000 00000000 000000000000000c 00000000 000001a1e0f8542d ffffffff 000000000000000c
    """
)


def test_an_empty_snapshot() -> None:
    assert encode_snapshot({}) == EMPTY
    assert decode_snapshot(EMPTY) == {}


def test_a_snapshot_that_a_broker_wrote() -> None:
    producers = decode_snapshot(REAL)
    assert encode_snapshot(producers) == REAL
    idempotent, transactional = producers[0], producers[1]
    assert idempotent.last_batch == AppendedBatch(11, 11, 0, 1794775732754)
    assert not idempotent.in_transaction
    assert (idempotent.producer_epoch, idempotent.coordinator_epoch, idempotent.last_timestamp) == (
        0,
        -1,
        1794775732754,
    )
    assert transactional.transaction_first_offset == 12
    assert transactional.last_batch == AppendedBatch(0, 12, 0, 1794775733293)


def test_the_same_appends_give_the_bytes_of_the_broker() -> None:
    partition = Partition()
    for sequence in range(12):
        partition.append(records_batch(0, 0, sequence, timestamp_ms=1794775732754))
    partition.append(records_batch(1, 0, 0, transactional=True, timestamp_ms=1794775733293))
    assert partition.state.map_end_offset == 13
    assert encode_snapshot(partition.state.producers) == REAL


def test_of_the_batches_the_last_is_kept_with_the_time_of_the_marker() -> None:
    partition = Partition()
    for sequence in (0, 3, 6):
        partition.append(records_batch(7, 0, sequence, 3, transactional=True))
    marker = marker_batch(7, 0, coordinator_epoch=4, timestamp_ms=NOW_MS + 9)
    partition.append(marker, origin=AppendOrigin.COORDINATOR)
    (entry,) = decode_snapshot(encode_snapshot(partition.state.producers)).values()
    assert entry.batches == [AppendedBatch(8, 8, 2, NOW_MS + 9)]
    assert entry[:4] == (0, 4, NOW_MS + 9, -1)


def test_a_producer_without_batches() -> None:
    producers = {7: ProducerEntry(3, 1, NOW_MS)}
    data = encode_snapshot(producers)
    assert data[10:] == struct.pack(">qhiqiqiq", 7, 3, -1, -1, 0, NOW_MS, 1, -1)
    assert decode_snapshot(data) == producers


def test_a_loaded_producer_goes_on() -> None:
    partition = Partition(end_offset=13)
    partition.state.load(decode_snapshot(REAL), 13, 1794775733293, 86_400_000)
    assert partition.state.last_stable_offset(13) == 12
    original = partition.send(0, 0, 11)
    assert original is not None
    assert original.base_offset == 11
    assert partition.send(0, 0, 12) is None
    assert partition.refusal(1, 0, 1) == "INVALID_TXN_STATE"
    assert partition.end(1, 0, commit=False)[0][:3] == (1, 12, 14)


def with_crc(body: bytes, version: int = 1) -> bytes:
    return struct.pack(">hI", version, crc32c(body)) + body


@pytest.mark.parametrize(
    "data",
    [
        b"",
        EMPTY[:9],
        REAL[:-1],
        REAL + b"\0",
        REAL[:-1] + b"\xff",
        with_crc(REAL[6:], version=0),
        with_crc(REAL[6:], version=2),
        with_crc(REAL[6:-1]),
        with_crc(REAL[6:] + b"\0"),
        with_crc(struct.pack(">i", 3) + REAL[10:]),
        with_crc(struct.pack(">i", -1)),
        with_crc(struct.pack(">i", 1 << 30)),
    ],
    ids=range(12),
)
def test_a_damaged_snapshot_is_told_apart(data: bytes) -> None:
    with pytest.raises(CorruptRecord) as raised:
        decode_snapshot(data)
    assert raised.value.code is ErrorCode.CORRUPT_MESSAGE


def test_every_flipped_bit_is_noticed() -> None:
    for position in range(len(REAL) * 8):
        damaged = bytearray(REAL)
        damaged[position // 8] ^= 1 << position % 8
        with pytest.raises(CorruptRecord):
            decode_snapshot(bytes(damaged))
