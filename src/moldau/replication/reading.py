"""Reading for a fetch: from which partitions, how much, up to where, and what to tell about each.

The partitions of a request are read in its order until `max_bytes` are used up. The first that has anything gives at
least one whole batch, however large, so that a consumer always gets on (KIP-74). Another whose next batch does not fit
gives nothing, rather than a part of it: a client takes that for a batch that it can never get. A reader sees up to its
isolation: followers up to the end, consumers up to the high watermark, those of committed records up to the last stable
offset.

Nothing here waits for a disk: `NotInCache` says that a thread has to read, for which there is `wait`.
"""

from __future__ import annotations

from typing import NamedTuple

from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.fetch import AbortedTransaction, EpochEndOffset, FetchPartition, PartitionData
from moldau.records.batch import Buffer
from moldau.replication.delayed_fetch import FetchIsolation
from moldau.replication.replica_selectors import NO_PREFERENCE
from moldau.replication.replicas import LogPartition
from moldau.storage.log import Log
from moldau.storage.log_reading import Slice, aborted_transactions, find_slice
from moldau.storage.segment import NotInCache

UNKNOWN_OFFSET = -1
NOTHING = b""


class Reading(NamedTuple):
    """What is the same for all partitions of a fetch."""

    isolation: FetchIsolation
    only_leader: bool = True
    wait: bool = False


class PartitionRead(NamedTuple):
    """What a read has found: the offsets of that moment, and where the records are, if there are any."""

    log: Log
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    bound: int
    slice: Slice | None = None
    diverging_epoch: EpochEndOffset | None = None
    preferred_replica: int = NO_PREFERENCE

    @property
    def is_urgent(self) -> bool:
        """Whether the fetcher is to hear of it at once, however little there is to read."""
        return self.diverging_epoch is not None or self.preferred_replica != NO_PREFERENCE

    @property
    def size_bytes(self) -> int:
        return self.slice.size_bytes if self.slice is not None else 0


def find(
    partition: LogPartition, wanted: FetchPartition, reading: Reading, bytes_max: int, *, at_least_one: bool
) -> PartitionRead:
    """Where the records are that a fetch is to get; the errors are those that it is to hear."""
    log = partition.require_log(wanted.current_leader_epoch, only_leader=reading.only_leader)
    high_watermark, last_stable_offset, isolation = log.high_watermark, log.last_stable_offset, reading.isolation
    if isolation is FetchIsolation.HIGH_WATERMARK:
        bound = high_watermark
    else:
        bound = last_stable_offset if isolation is FetchIsolation.TXN_COMMITTED else log.log_end_offset
    if wanted.last_fetched_epoch >= 0:
        end = partition.diverging_epoch(wanted.current_leader_epoch, wanted.last_fetched_epoch, wanted.fetch_offset)
        if end is not None:
            diverging = EpochEndOffset(epoch=end.epoch, end_offset=end.end_offset)
            return PartitionRead(log, high_watermark, last_stable_offset, log.log_start_offset, bound, None, diverging)
    bytes_max = min(bytes_max, wanted.partition_max_bytes)
    found = find_slice(log, wanted.fetch_offset, bound, bytes_max, wait=reading.wait)
    if found is not None and found.size_bytes > bytes_max and not at_least_one:
        found = None
    return PartitionRead(log, high_watermark, last_stable_offset, log.log_start_offset, bound, found)


def send_elsewhere(partition: LogPartition, wanted: FetchPartition, reading: Reading, broker_id: int) -> PartitionRead:
    """Nothing is read for a consumer that should read from another replica (KIP-392)."""
    log = partition.require_log(wanted.current_leader_epoch, only_leader=reading.only_leader)
    offsets = log.high_watermark, log.last_stable_offset, log.log_start_offset
    return PartitionRead(log, *offsets, log.high_watermark, preferred_replica=broker_id)


def data_of(wanted: FetchPartition, read: PartitionRead, records: Buffer | None, reading: Reading) -> PartitionData:
    """What to tell of a partition, with the records that were read."""
    aborted: list[AbortedTransaction] | None = None
    if reading.isolation is FetchIsolation.TXN_COMMITTED:
        found = aborted_transactions(read.log, wanted.fetch_offset, read.bound) if records else []
        aborted = [AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset) for one in found]
    return PartitionData(
        partition_index=wanted.partition,
        high_watermark=read.high_watermark,
        last_stable_offset=read.last_stable_offset,
        log_start_offset=read.log_start_offset,
        diverging_epoch=read.diverging_epoch,
        aborted_transactions=aborted,
        preferred_read_replica=read.preferred_replica,
        records=records or NOTHING,  # type: ignore[arg-type]
    )


def refusal(partition: int, code: ErrorCode) -> PartitionData:
    """What to tell of a partition that cannot be read."""
    return PartitionData(
        partition_index=partition,
        error_code=code,
        high_watermark=UNKNOWN_OFFSET,
        last_stable_offset=UNKNOWN_OFFSET,
        log_start_offset=UNKNOWN_OFFSET,
        aborted_transactions=None,
        records=NOTHING,
    )


def bytes_between(partition: LogPartition, start: int, end: int, bytes_max: int) -> int:
    """About how many bytes of batches there are between two offsets, counted up to a limit."""
    if bytes_max <= 1:
        return bytes_max  # there is something, and who waits for anything at all need not know where
    log = partition.require_log(only_leader=False)
    try:
        found = find_slice(log, start, end, bytes_max, wait=False)
    except NotInCache:
        return bytes_max
    return found.size_bytes if found is not None else 0
