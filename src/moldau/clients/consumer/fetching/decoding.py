"""Batches to records, as fast as Python allows: this is the price of every record that a consumer sees.

Two ways give the same. Record by record costs 1.8 µs each. Together, where only lengths are walked in Python and all
else is read for thousands of records at once, costs half of it; but it needs numpy and pyarrow, whose import takes a
part of a second, so a consumer changes over when it has read enough for that to pay, or finds them imported.

A collector that runs while records are made costs as much again, since it looks at all of them several times.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec

from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.records.batch import NO_LEADER_EPOCH, RecordBatch
from moldau.records.reader import read_batch

# Below this many records at once, numpy costs more than it saves.
TOGETHER_RECORDS_MIN = 128
# A consumer that has read this many will read more.
WARM_RECORDS = 20_000

_NEEDED = frozenset({"numpy", "pyarrow"})
_new_tuple = tuple.__new__


class RecordDecoder:
    """Decoder of one consumer."""

    def __init__(self) -> None:
        self._decoded = 0

    def decode(self, topic: str, partition: int, batches: list[RecordBatch]) -> list[ConsumerRecord]:
        """The records of batches that have been checked and hold no control records."""
        count = sum(batch.count for batch in batches)
        self._decoded += count
        with _no_collection():
            if count >= TOGETHER_RECORDS_MIN and self._pays():
                from moldau.clients.consumer.fetching.column_decoding import decode_together

                records = decode_together(topic, partition, batches)
                if records is not None:
                    return records
            return _decode_records(topic, partition, batches)

    def _pays(self) -> bool:
        """Whether to use numpy and pyarrow: if they are there already, or will be worth their import."""
        return (self._decoded >= WARM_RECORDS or sys.modules.keys() >= _NEEDED) and columns_are_possible()


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage is collected meanwhile: thousands of records are made, and none of them is garbage yet."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@cache
def columns_are_possible() -> bool:
    return find_spec("numpy") is not None and find_spec("pyarrow") is not None


def _decode_records(topic: str, partition: int, batches: Sequence[RecordBatch]) -> list[ConsumerRecord]:
    records: list[ConsumerRecord] = []
    for batch in batches:
        kind, epoch = batch.timestamp_type, _epoch(batch)
        records += [
            _new_tuple(ConsumerRecord, (topic, partition, offset, timestamp, kind, key, value, headers, epoch))
            for offset, timestamp, key, value, headers in read_batch(batch)
        ]
    return records


def _epoch(batch: RecordBatch) -> int | None:
    return None if batch.leader_epoch == NO_LEADER_EPOCH else batch.leader_epoch
