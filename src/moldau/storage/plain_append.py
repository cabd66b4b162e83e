"""The append that nearly all are: one batch of today's format that goes into the log as it is.

A broker of small requests spends its time here, so this is the whole of an append written out, at half the time of
the general way, which knows many batches, other formats, transactions, duplicates and topics that ask for a look at the
records. It decides nothing of its own. Whatever is not exactly as expected is left untouched to the general way, which
also knows what to say about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.records.batch import (
    ASSIGNED,
    ATTRIBUTES_AT,
    BROKERS_FLAGS,
    HEADER,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC_V2,
    TRANSACTIONAL_FLAG,
    Buffer,
)
from moldau.records.checksum import crc32c
from moldau.storage.producer_entry import ProducerEntry

if TYPE_CHECKING:
    from moldau.storage.log import Log

RECENT_BATCHES_MAX = 256  # whose place in the log is remembered, since followers and consumers are about to fetch them

_UNUSUAL_FLAGS = BROKERS_FLAGS | TRANSACTIONAL_FLAG
_unpack = HEADER.unpack_from
_assign = ASSIGNED.pack_into


def append_plain(log: Log, data: Buffer, leader_epoch: int) -> bool:
    """Append a client's batch if it is an ordinary one; if not, nothing has changed."""
    size_bytes = len(data)
    if size_bytes < HEADER_BYTES or not (type(data) is bytearray or (type(data) is memoryview and not data.readonly)):
        return False
    header = _unpack(data)
    sent_offset, length, _, magic, crc, attributes, offset_delta, _, timestamp, producer_id, epoch, sequence, count = (
        header
    )
    if (
        length != size_bytes - LOG_OVERHEAD_BYTES
        or length > log.validation.plain_length_max
        or magic != MAGIC_V2
        or attributes & _UNUSUAL_FLAGS
        or count < 1
        or count != offset_delta + 1
        or sent_offset < 0
        or leader_epoch != log.leader_epochs.latest_epoch
        or crc32c(memoryview(data)[ATTRIBUTES_AT:]) != crc
    ):
        return False
    base_offset, segment = log.log_end_offset, log.segments.active
    last_offset = base_offset + offset_delta
    if not log.belongs(segment, size_bytes, last_offset, timestamp):
        return False
    state = log.producer_state
    entry: ProducerEntry | None = None
    if producer_id >= 0:
        known = state.expecting(producer_id, epoch, sequence)
        if known is None:
            return False
        entry = known.with_batch(epoch, sequence, last_offset, offset_delta, timestamp)
    _assign(data, 0, base_offset, length, leader_epoch)
    log.is_changed = True
    position = segment.append_one(data, last_offset, timestamp)
    log.log_end_offset = end_offset = last_offset + 1
    state.map_end_offset = end_offset
    if entry is not None:
        state.commit_plain(producer_id, entry)
    recent = log.recent
    recent[base_offset] = segment, position, size_bytes
    if len(recent) > RECENT_BATCHES_MAX:
        log.forget_older()
    return True
