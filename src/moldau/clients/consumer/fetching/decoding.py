"""Batches to records, as fast as Python allows: this is the price of every record that a consumer sees.

Two ways give the same. Record by record costs 1.8 µs each. Together, where only lengths are walked in Python and all
else is read for thousands of records at once, costs half of it; but it needs numpy and pyarrow, whose import takes a
part of a second, so a consumer changes over when it has read enough for that to pay, or finds them imported.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Protocol

from moldau.base.collector import collector_resting
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.records.batch import NO_LEADER_EPOCH, RecordBatch
from moldau.records.reader import read_batch

# Below this many records at once, numpy costs more than it saves.
TOGETHER_RECORDS_MIN = 128
# A consumer that has read this many will read more.
WARM_RECORDS = 20_000

_NEEDED = frozenset({"numpy", "pyarrow"})
_new_tuple = tuple.__new__


class DecodedRecords(Protocol):
    """Records in the order of their offsets, of which some are taken at a time."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice, /) -> list[ConsumerRecord]: ...


class RecordDecoder:
    """Decoder of one consumer."""

    def __init__(self) -> None:
        self._decoded = 0

    def decode(self, topic: str, partition: int, batches: list[RecordBatch]) -> DecodedRecords:
        """The records of batches that have been checked and hold no control records."""
        count = sum(batch.count for batch in batches)
        self._decoded += count
        if count >= TOGETHER_RECORDS_MIN and self._pays():
            from moldau.clients.consumer.fetching.column_decoding import decode_together

            together = decode_together(topic, partition, batches)
            if together is not None:
                return together
        with collector_resting():
            return decode_one_by_one(topic, partition, batches)

    def _pays(self) -> bool:
        """Whether to use numpy and pyarrow: if they are there already, or will be worth their import."""
        return (self._decoded >= WARM_RECORDS or sys.modules.keys() >= _NEEDED) and columns_are_possible()


@cache
def columns_are_possible() -> bool:
    return find_spec("numpy") is not None and find_spec("pyarrow") is not None


def decode_one_by_one(topic: str, partition: int, batches: Sequence[RecordBatch]) -> list[ConsumerRecord]:
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
