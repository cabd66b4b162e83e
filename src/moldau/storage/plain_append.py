"""The append that nearly all are: batches of today's format that go into the log as they are.

A broker of small requests spends its time here, so this is the whole of an append written out, at half the time of
the general way, which knows other formats, transactions, duplicates and topics that ask for a look at the records. It
decides nothing of its own. Whatever is not exactly as expected is left untouched to the general way, which also knows
what to say about it. Batches that came together are written together.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from moldau.records.record import NO_TIMESTAMP
from moldau.storage.producer_entry import ProducerEntry
from moldau.storage.segment import RELATIVE_OFFSET_MAX, NotedBatch

if TYPE_CHECKING:
    from moldau.storage.log import Log

RECENT_BATCHES_MAX = 256  # whose place in the log is remembered, since followers and consumers are about to fetch them

_UNUSUAL_FLAGS = BROKERS_FLAGS | TRANSACTIONAL_FLAG
_unpack = HEADER.unpack_from
_assign = ASSIGNED.pack_into


def append_plain(log: Log, run: Sequence[Buffer], leader_epoch: int, length_max: int) -> list[NotedBatch]:
    """Append batches up to the first that is not an ordinary one; where those are that were appended."""
    segment, state = log.segments.active, log.producer_state
    position = segment.size_bytes
    if not position or segment.is_full or leader_epoch != log.leader_epochs.latest_epoch:
        return []
    base_offset = log.log_end_offset
    bytes_max, last_offset_max = log.settings.segment_bytes, segment.base_offset + RELATIVE_OFFSET_MAX
    first_timestamp, recent = segment.first_timestamp, log.recent
    timestamp_max = first_timestamp + log.segment_ms if first_timestamp >= 0 else NO_TIMESTAMP
    entries: dict[int, ProducerEntry] | None = None
    noted: list[NotedBatch] = []
    for data in run:
        size_bytes = len(data)
        if size_bytes < HEADER_BYTES or not (
            type(data) is bytearray or (type(data) is memoryview and not data.readonly)
        ):
            break
        sent_offset, length, _, magic, crc, attributes, delta, _, timestamp, producer_id, epoch, sequence, count = (
            _unpack(data)
        )
        last_offset = base_offset + delta
        if (
            length != size_bytes - LOG_OVERHEAD_BYTES
            or length > length_max
            or magic != MAGIC_V2
            or attributes & _UNUSUAL_FLAGS
            or count < 1
            or count != delta + 1
            or sent_offset < 0
            or position + size_bytes > bytes_max
            or last_offset > last_offset_max
            or not 0 <= timestamp <= timestamp_max
            or crc32c(memoryview(data)[ATTRIBUTES_AT:]) != crc
        ):
            break
        if producer_id >= 0:
            if entries is None:
                entries = {}
            known = entries.get(producer_id) or state.plain_entry(producer_id)
            if known is None or not known.expects(epoch, sequence):
                break
            entries[producer_id] = known.with_batch(epoch, sequence, last_offset, delta, timestamp)
        _assign(data, 0, base_offset, length, leader_epoch)
        noted.append((position, size_bytes, last_offset, timestamp))
        recent[base_offset] = segment, position, size_bytes  # nobody looks there before the end of the log has moved
        position += size_bytes
        base_offset = last_offset + 1
    if not noted:
        return noted
    log.is_changed = True
    segment.append_run(run if len(run) == len(noted) else run[: len(noted)], noted)
    log.log_end_offset = state.map_end_offset = base_offset
    if entries:
        state.commit_plain(entries)
    if len(recent) > RECENT_BATCHES_MAX:
        log.forget_older()
    return noted
