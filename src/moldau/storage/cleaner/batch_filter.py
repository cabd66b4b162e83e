"""What stays of a batch; `legacy_filter` says it of the formats before.

A record stays if it is the last of its key. A tombstone also has to go one day, but not before every reader that had
begun to read has seen it: the first run that meets it writes a delete horizon, `delete.retention.ms` from then, into
its batch, and the first run after that time drops it (KIP-534). Markers of transactions that have no records any more
go the same way. The whole decision:

    batch of an aborted transaction            nothing stays
    marker, nothing of its transaction left    nothing after the horizon; before, the marker with a horizon
    any other marker                           all of it
    records                                    the last of each key, but no tombstone after the horizon

Where nothing stays, an empty batch does in two cases: if it is the last of a producer that the log still remembers, as
it says how far the producer's sequence and epoch have come; and if it ends the part that is being cleaned, since a
follower would otherwise never get to offsets that no batch has. What stays is cut out of the old bytes; only a
new horizon means that records are written anew, because it takes the place of the timestamp that others count from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from moldau.records.batch import LOG_APPEND_TIME_FLAG, Buffer, RecordBatch
from moldau.records.builder import encode_header
from moldau.records.compression import compress
from moldau.records.reader import read_batch
from moldau.records.rebuild import retain_records
from moldau.storage.cleaner.key_scan import ScannedRecords, scan_records
from moldau.storage.cleaner.offset_map import OffsetMap
from moldau.storage.cleaner.transactions import CleanedTransactions
from moldau.storage.producer_entry import ProducerEntry

_SAFE_TIMESTAMP = 1 << 62  # sums of two that are smaller do not overflow


class Retained(NamedTuple):
    """What takes the place of a batch."""

    data: Buffer
    last_offset: int
    max_timestamp: int
    records: int


class BatchFilter:
    """Asked for every batch of a log in order, from the first on."""

    def __init__(
        self,
        offset_map: OffsetMap,
        transactions: CleanedTransactions,
        producers: Mapping[int, ProducerEntry],
        *,
        now_ms: int,
        delete_retention_ms: int,
        end_offset: int,
    ) -> None:
        """`end_offset` is where the part that is being cleaned ends."""
        self.invalid_records = 0
        """Records without a key, which a compacted log should not have."""
        self._map = offset_map
        self._transactions = transactions
        self._producers = producers
        self._now_ms = now_ms
        self._new_horizon_ms = now_ms + delete_retention_ms
        self._end_offset = end_offset

    def filter(self, batch: RecordBatch) -> Retained | None:
        """What stays of a batch; None for nothing."""
        discardable = self._transactions.is_discardable(batch)
        horizon_ms = batch.delete_horizon_ms
        if batch.is_control:
            if discardable and (not batch.count or (horizon_ms is not None and horizon_ms <= self._now_ms)):
                return self._emptied(batch)
            return self._with_horizon(batch) if discardable and horizon_ms is None else _unchanged(batch)
        if discardable or not batch.count:
            return self._emptied(batch)
        records = scan_records(batch)
        kept = self._kept(batch, records, horizon_ms)
        if not kept:
            return self._emptied(batch)
        if horizon_ms is None and records.tombstones and not set(kept).isdisjoint(records.tombstones):
            return self._with_horizon(batch, kept)
        return _unchanged(batch) if len(kept) == batch.count else _cut(batch, records, kept)

    def _kept(self, batch: RecordBatch, records: ScannedRecords, horizon_ms: int | None) -> list[int]:
        kept = self._map.retained(records, batch.base_offset, batch.last_offset)
        if len(kept) < batch.count and None in records.keys:
            self.invalid_records += records.keys.count(None)
        if records.tombstones and horizon_ms is not None and horizon_ms <= self._now_ms:
            kept = self._map.without_tombstones(kept, records, batch.base_offset)
        return kept

    def _emptied(self, batch: RecordBatch) -> Retained | None:
        if not self._is_last_of_producer(batch) and batch.next_offset != self._end_offset:
            return None
        return _retained(retain_records(batch, []), 0)

    def _is_last_of_producer(self, batch: RecordBatch) -> bool:
        """Whether a producer that is still known has its last sequence, or after a marker its epoch, from here."""
        producer = self._producers.get(batch.producer_id) if batch.producer_id >= 0 else None
        if producer is None:
            return False
        if producer.last_data_offset >= 0:
            return batch.last_offset == producer.last_data_offset
        return batch.is_control and batch.producer_epoch == producer.producer_epoch

    def _with_horizon(self, batch: RecordBatch, kept: list[int] | None = None) -> Retained:
        records = read_batch(batch)
        if kept is not None:
            records = [records[index] for index in kept]
        return _retained(retain_records(batch, records, delete_horizon_ms=self._new_horizon_ms), len(records))


def _unchanged(batch: RecordBatch) -> Retained:
    return Retained(batch.data, batch.base_offset + batch.last_offset_delta, batch.max_timestamp, batch.count)


def _retained(data: bytes, count: int) -> Retained:
    batch = RecordBatch(data)
    return Retained(data, batch.last_offset, batch.max_timestamp, count)


def _cut(batch: RecordBatch, records: ScannedRecords, kept: list[int]) -> Retained:
    """The batch with some of its records, each as it was."""
    max_timestamp = batch.max_timestamp
    if not batch.attributes & LOG_APPEND_TIME_FLAG:
        deltas = [records.timestamp_deltas[index] for index in kept]
        if abs(batch.base_timestamp) >= _SAFE_TIMESTAMP or max(deltas) >= _SAFE_TIMESTAMP:
            all_records = read_batch(batch)
            return _retained(retain_records(batch, [all_records[index] for index in kept]), len(kept))
        max_timestamp = batch.base_timestamp + max([(delta >> 1) ^ -(delta & 1) for delta in deltas])
    section, bounds = records.section, records.bounds
    cut = compress(batch.compression_type, b"".join([section[bounds[index] : bounds[index + 1]] for index in kept]))
    header = encode_header(
        cut,
        attributes=batch.attributes,
        count=len(kept),
        last_offset_delta=batch.last_offset_delta,
        base_timestamp=batch.base_timestamp,
        max_timestamp=max_timestamp,
        base_offset=batch.base_offset,
        leader_epoch=batch.leader_epoch,
        producer=batch.producer,
    )
    return _retained(header + cut, len(kept))
