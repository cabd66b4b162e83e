"""Logs to be read by others, with all that can be in one: every codec, transactions, markers, epochs, old formats."""

from __future__ import annotations

from collections.abc import Iterator

from moldau.records.batch import Producer
from moldau.records.compression import CompressionType
from moldau.records.control import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
from moldau.records.legacy import build_message_set
from moldau.records.record import Record
from moldau.storage.log import Log
from moldau.storage.producer_append import AppendOrigin
from tests.unit.storage.log_workbench import START_MS, batch

IDEMPOTENT_ID, COMMITTING_ID, ABORTING_ID = 5, 7, 9
ROUNDS = 10


class Sequences:
    """The next sequence number of each producer."""

    def __init__(self) -> None:
        self._next: dict[int, int] = {}

    def take(self, producer_id: int, count: int) -> Producer:
        base_sequence = self._next.get(producer_id, 0)
        self._next[producer_id] = base_sequence + count
        return Producer(producer_id, 0, base_sequence)


def write_samples(log: Log, rounds_per_epoch: int = 4) -> tuple[list[bytes], list[bytes]]:
    """Fill a log; the values that it has in their order, and those of aborted transactions among them."""
    sequences = Sequences()
    written: list[bytes] = []
    aborted: list[bytes] = []
    names = _names()
    for number in range(ROUNDS):
        epoch = number // rounds_per_epoch
        for codec in CompressionType:
            values = [next(names) * 8 for _ in range(5)]
            log.append_as_leader(batch(*values, timestamp=_time(log), codec=codec), epoch)
            written += values
        values = [next(names), next(names)]
        log.append_as_leader(legacy_message_set(values, _time(log), number % 2), epoch)
        written += values
        for producer_id in (IDEMPOTENT_ID, COMMITTING_ID, ABORTING_ID):
            values = [next(names), next(names)]
            producer = sequences.take(producer_id, len(values))
            transactional = producer_id != IDEMPOTENT_ID
            sent = batch(*values, timestamp=_time(log), producer=producer, transactional=transactional)
            log.append_as_leader(sent, epoch)
            written += values
            aborted += values if producer_id == ABORTING_ID else []
        if number % 2:
            end_transaction(log, COMMITTING_ID, ControlRecordType.COMMIT, epoch)
        if number % 3 == 2 or number == ROUNDS - 1:
            end_transaction(log, ABORTING_ID, ControlRecordType.ABORT, epoch)
    log.advance_high_watermark(log.log_end_offset)
    return written, aborted


def _names() -> Iterator[bytes]:
    number = 0
    while True:
        yield b"value-%05d" % number
        number += 1


def _time(log: Log) -> int:
    """Times that mostly ascend."""
    offset = log.log_end_offset
    return START_MS + offset - (50 if offset % 7 == 0 else 0)


def legacy_message_set(values: list[bytes], timestamp: int, magic: int) -> bytearray:
    """What a client from before 0.11 sends."""
    records = [Record(index, timestamp, b"key", value) for index, value in enumerate(values)]
    codec = CompressionType.GZIP if magic else CompressionType.NONE
    return bytearray(build_message_set(records, magic, codec))


def end_transaction(log: Log, producer_id: int, kind: ControlRecordType, epoch: int) -> None:
    marker = build_end_transaction_marker(EndTransactionMarker(kind, 0), producer_id, 0, _time(log))
    log.append_as_leader(bytearray(marker), epoch, AppendOrigin.COORDINATOR)
