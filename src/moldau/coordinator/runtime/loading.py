"""Loading a shard: its partition's log is read from the beginning and replayed. Runs in a thread."""

from __future__ import annotations

import logging
from collections.abc import Callable

from moldau.base.errors import MalformedMessage
from moldau.coordinator.runtime.shard import Shard
from moldau.records.batch import NO_PRODUCER_ID, RecordBatch
from moldau.records.control import ControlRecordType, read_end_transaction_marker
from moldau.records.reader import read_batch
from moldau.records.walk import batches
from moldau.storage.log import Log
from moldau.storage.log_reading import find_slice

logger = logging.getLogger(__name__)


def load(log: Log, shard: Shard, end_offset: int, piece_bytes: int, is_wanted: Callable[[], bool]) -> int:
    """Replay everything before an offset; how many records that were. Ends early if nobody wants it any more."""
    offset, count = log.log_start_offset, 0
    while offset < end_offset and is_wanted():
        piece = find_slice(log, offset, end_offset, piece_bytes)
        if piece is None:
            break
        for batch in batches(piece.read()):
            if batch.next_offset > offset:
                count += _replay(batch, shard, offset)
                offset = batch.next_offset
    return count


def _replay(batch: RecordBatch, shard: Shard, first_offset: int) -> int:
    records = read_batch(batch)
    if batch.is_control:
        marker = read_end_transaction_marker(records[0]) if records else None
        if marker is not None:
            shard.end_transaction(batch.producer_id, marker.type is ControlRecordType.COMMIT)
        return 0
    producer_id = batch.producer_id if batch.is_transactional else NO_PRODUCER_ID
    for record in records:
        if record.offset < first_offset or record.key is None:
            continue
        try:
            shard.replay(record.key, record.value, producer_id)
        except MalformedMessage as error:
            logger.error("the record at offset %d makes no sense and is left out: %s", record.offset, error)  # noqa: TRY400
    return len(records)
