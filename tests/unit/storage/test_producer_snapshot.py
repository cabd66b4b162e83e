"""Producer snapshots, byte by byte as Apache Kafka 3.9.1 writes them, with the batches before each producer's last."""

from __future__ import annotations

import struct

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import CorruptRecord
from moldau.storage.producer_append import AppendOrigin
from moldau.storage.producer_entry import AppendedBatch, ProducerEntry
from moldau.storage.producer_snapshot import decode_snapshot, encode_snapshot
from tests.unit.storage.producer_batches import NOW_MS, Partition, marker_batch, records_batch
from tests.unit.storage.snapshot_bytes import as_kafka_reads_it, with_crc

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


def test_the_same_appends_give_the_bytes_of_the_broker_and_the_batches_before() -> None:
    partition = Partition()
    for sequence in range(12):
        partition.append(records_batch(0, 0, sequence, timestamp_ms=1794775732754))
    partition.append(records_batch(1, 0, 0, transactional=True, timestamp_ms=1794775733293))
    assert partition.state.map_end_offset == 13
    snapshot = encode_snapshot(partition.state.producers)
    assert as_kafka_reads_it(snapshot) == REAL
    assert decode_snapshot(snapshot) == partition.state.producers


def test_a_retry_of_any_of_five_batches_is_known_after_a_restart() -> None:
    partition = Partition()
    for sequence in range(7):
        partition.append(records_batch(0, 0, sequence))
    snapshot = encode_snapshot(partition.state.producers)
    loaded = Partition(end_offset=7)
    loaded.state.load(decode_snapshot(snapshot), 7, NOW_MS, 86_400_000)
    for sequence in range(2, 7):
        original = loaded.send(0, 0, sequence)
        assert original is not None
        assert original.base_offset == sequence
    assert loaded.refusal(0, 0, 1) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert loaded.send(0, 0, 7) is None


def test_batches_of_an_older_epoch_are_not_kept() -> None:
    older, newer = (ProducerEntry(epoch, -1, NOW_MS).with_batch(epoch, 0, epoch, 0, NOW_MS) for epoch in (1, 2))
    one, other = (encode_snapshot({7: entry})[10:] for entry in (older, newer))
    assert decode_snapshot(with_crc(struct.pack(">i", 2) + one + other)) == {7: newer}


def test_the_batches_are_kept_and_the_last_has_the_time_of_the_marker() -> None:
    partition = Partition()
    for sequence in (0, 3, 6):
        partition.append(records_batch(7, 0, sequence, 3, transactional=True))
    marker = marker_batch(7, 0, coordinator_epoch=4, timestamp_ms=NOW_MS + 9)
    partition.append(marker, origin=AppendOrigin.COORDINATOR)
    (entry,) = decode_snapshot(encode_snapshot(partition.state.producers)).values()
    earlier = [AppendedBatch(2, 2, 2, NOW_MS), AppendedBatch(5, 5, 2, NOW_MS)]
    assert entry.batches == [*earlier, AppendedBatch(8, 8, 2, NOW_MS + 9)]
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
