"""What a fetch brought of one partition, until all of it is given out.

Only headers are looked at when it comes. Batches are decoded when records are asked for, some at a time, so that memory
follows the reader. Not every batch is shown: control batches never, and with read_committed none of an aborted
transaction. The broker names those (KIP-98): an entry is a producer and the offset from which on its records belong to
a transaction that ends in an abort marker. The position moves past what is not shown all the same.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, CorruptRecord
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.clients.consumer.fetching.decoding import DecodedRecords, RecordDecoder
from moldau.clients.records import TopicPartition
from moldau.protocol.messages.fetch import AbortedTransaction
from moldau.records.batch import MAGIC_AT, MAGIC_V2, RecordBatch
from moldau.records.control import ControlRecordType, control_record_type
from moldau.records.legacy import LegacyEntry
from moldau.records.reader import read_batch
from moldau.records.walk import Span, boundaries

# How many records are decoded at once, unless a batch alone has more.
DECODED_RECORDS = 4_000


class CompletedFetch:
    """Records of one partition from `next_offset` on. `version` is that of the position it was fetched for."""

    def __init__(
        self,
        partition: TopicPartition,
        version: int,
        offset: int,
        data: memoryview,
        aborted: Iterable[AbortedTransaction] | None,
        *,
        check_crcs: bool,
        decoder: RecordDecoder,
    ) -> None:
        """`aborted` is None where transactions do not matter: read_uncommitted."""
        self.partition = partition
        self.version = version
        self.next_offset = offset
        self.leader_epoch = -1
        self.size_bytes = len(data)
        self._data = data
        self.check_crcs = check_crcs
        self._decoder = decoder
        self._boundaries = boundaries(data)
        self._index = 0
        self._aborted = sorted(aborted or (), key=lambda each: each.first_offset, reverse=True)
        self._aborted_producers: set[int] = set()
        self._read_committed = aborted is not None
        self._decoded: DecodedRecords = []
        self._decoded_index = 0
        self._undecoded: list[RecordBatch] = []
        self._passed_offset = -1
        self._count = len(self._boundaries) - 1
        if not self._count:
            raise CorruptRecord(f"the fetch of {partition} at {offset} brought no whole batch; raise fetch.max.bytes")
        self.end_offset = self._end_offset(self._count - 1)

    def _end_offset(self, last: int) -> int:
        """Where the next fetch begins."""
        if self._magic(last) == MAGIC_V2:
            return RecordBatch(self._data, self._boundaries[last]).next_offset
        return self._legacy_entry(last).offset + 1

    def _magic(self, index: int) -> int:
        return self._data[self._boundaries[index] + MAGIC_AT]

    def _legacy_entry(self, index: int) -> LegacyEntry:
        start, end = self._boundaries[index : index + 2]
        return LegacyEntry(self._data, Span(start, end - start, self._magic(index)))

    @property
    def begun(self) -> bool:
        """Whether there are records that were decoded and not given out."""
        return self._decoded_index < len(self._decoded) or bool(self._undecoded)

    @property
    def exhausted(self) -> bool:
        return self._index == self._count and not self.begun

    def take(self, count_max: int) -> list[ConsumerRecord]:
        """Up to so many records; none only if there are no more."""
        while self._decoded_index == len(self._decoded):
            if self.exhausted:
                return []
            self._decode_more()
        start = self._decoded_index
        self._decoded_index = end = min(start + count_max, len(self._decoded))
        records = self._decoded[start:end]
        last = records[-1]
        self.leader_epoch = -1 if last.leader_epoch is None else last.leader_epoch
        self.next_offset = last.offset + 1
        if end == len(self._decoded):
            self._decoded, self._decoded_index = [], 0
            # What is not shown at the end of a batch is passed by with it.
            self.next_offset = max(self.next_offset, self._passed_offset)
            if self.exhausted:
                self.next_offset = self.end_offset
        return records

    def _decode_more(self) -> None:
        first_offset = self.next_offset
        if not self._undecoded and self._magic(self._index) != MAGIC_V2:
            decoded: DecodedRecords = self._next_legacy_records()
        else:
            decoded = self._next_v2_records()
        self._decoded, self._decoded_index = decoded, _records_before(decoded, first_offset)
        if self._decoded_index == len(decoded):
            self.next_offset = max(first_offset, self._passed_offset)

    def _next_v2_records(self) -> DecodedRecords:
        topic, number = self.partition
        batches = self._undecoded or self.take_batches(DECODED_RECORDS)
        if not self._undecoded:
            try:
                return self._decoder.decode(topic, number, batches)
            except CorruptRecord:
                # One of them: those before it are given out first, one by one.
                self._undecoded = batches
        records = self._decoder.decode(topic, number, batches[:1])
        self._undecoded = batches[1:]
        self._passed_offset = batches[0].next_offset
        return records

    def take_batches(self, count_max: int | None) -> list[RecordBatch]:
        """The next batches that are shown, for at least so many records if there are, and for all if not said."""
        shown: list[RecordBatch] = []
        count = 0
        while self._index < self._count and (count_max is None or count < count_max):
            if self._magic(self._index) != MAGIC_V2:
                break
            batch = RecordBatch(self._data, self._boundaries[self._index])
            if self.check_crcs and not self._is_whole(batch, may_raise=not shown):
                break
            self._index += 1
            self._passed_offset = batch.next_offset
            if self._is_shown(batch):
                shown.append(batch)
                count += batch.count
        return shown

    def take_rest(self) -> list[RecordBatch]:
        """All batches that are shown, of a fetch that is not begun; the position is then behind them.

        A corrupt one ends it: what comes before is given out first, and the next call raises.
        """
        assert not self.begun
        batches = self.take_batches(None)
        if not batches and not self.exhausted:
            text = f"{self.partition} at offset {self.next_offset} is in a format from before Kafka 0.11: use poll"
            raise ApiError(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, text)
        self.next_offset = self.end_offset if self.exhausted else self._passed_offset
        if batches:
            self.leader_epoch = batches[-1].leader_epoch
        return batches

    def pieces(self) -> tuple[memoryview, list[int]] | None:
        """The bytes of a fetch that is not begun and where batches begin and end; None if they have to be told apart.

        That is so where some may belong to aborted transactions, or may not be of the newest format. Who has taken all
        of them calls `pass_rest`.
        """
        assert not self.begun
        if self._aborted or self._aborted_producers or self._magic(self._count - 1) != MAGIC_V2:
            return None
        return self._data, self._boundaries[self._index :]

    def pass_rest(self, leader_epoch: int) -> None:
        """All of it has been taken; the last batch was of this epoch."""
        self._index = self._count
        self.next_offset = self.end_offset
        self.leader_epoch = leader_epoch

    def _is_whole(self, batch: RecordBatch, *, may_raise: bool) -> bool:
        try:
            batch.check()
        except ApiError as error:
            if not may_raise:
                return False  # what comes before it is given out first
            place = f"{self.partition} at offset {self.next_offset}"
            raise CorruptRecord(f"{error.message} ({place}); seek past it to go on", error.code) from error
        return True

    def _is_shown(self, batch: RecordBatch) -> bool:
        if self._read_committed and batch.producer_id >= 0:
            while self._aborted and self._aborted[-1].first_offset <= batch.last_offset:
                self._aborted_producers.add(self._aborted.pop().producer_id)
            if batch.is_control:
                if control_record_type(read_batch(batch)[0]) is ControlRecordType.ABORT:
                    self._aborted_producers.discard(batch.producer_id)
            elif batch.is_transactional and batch.producer_id in self._aborted_producers:
                return False
        return not batch.is_control and batch.count > 0

    def _next_legacy_records(self) -> list[ConsumerRecord]:
        topic, number = self.partition
        entry = self._legacy_entry(self._index)
        self._index += 1
        self._passed_offset = entry.offset + 1
        kind = entry.timestamp_type
        return [
            ConsumerRecord(topic, number, offset, timestamp, kind, key, value)
            for offset, timestamp, key, value, _ in entry.records()
        ]


def _records_before(decoded: DecodedRecords, offset: int) -> int:
    """How many records have an offset before this one: those that share a batch with it and were read before."""
    if not len(decoded) or decoded[:1][0].offset >= offset:
        return 0
    return bisect_left(range(len(decoded)), offset, key=lambda row: decoded[row : row + 1][0].offset)
