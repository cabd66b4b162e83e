"""What stays of messages of magic 0 and 1.

They share the offset map with the batches of today: a message stays if it is the last of its key, and one without a
key goes. What stays is as it was, in its own magic and codec; if only some messages of a wrapper stay, they get a new
one. Three things are different, because an entry of these formats has no place for what a batch says:

    delete horizon     the times of files tell instead: a tombstone goes if the last file that was cleaned before is
                       younger than its own by `delete.retention.ms` or more
    producer           there is none, so nothing has to stay for the sake of sequence numbers
    empty batch        cannot be: the last message of the part that is being cleaned stays instead, whatever it is,
                       until there is more to clean; a follower would otherwise never get to its offset

All but the last of these is how Kafka does it.
"""

from __future__ import annotations

from moldau.records.batch import LOG_APPEND_TIME_FLAG
from moldau.records.convert import ConvertedEntry
from moldau.records.legacy import build_message_set, entries
from moldau.records.reader import read_batch
from moldau.storage.cleaner.batch_filter import Retained
from moldau.storage.cleaner.key_scan import scan_records
from moldau.storage.cleaner.offset_map import OffsetMap
from moldau.storage.cleaner.schedule import CleanableLog


def legacy_delete_horizon_ms(cleanable: CleanableLog) -> int:
    """Tombstones in files that were modified up to then may go; 0 if the log was never cleaned."""
    log = cleanable.log
    clean = cleanable.segments_between(0, cleanable.first_dirty_offset)
    return log.place.files.modified_ms(clean[-1].path) - log.settings.delete_retention_ms if clean else 0


class LegacyFilter:
    """Asked for every entry of a log in order, and told when the next segment begins."""

    def __init__(self, offset_map: OffsetMap, *, delete_horizon_ms: int, end_offset: int) -> None:
        """`end_offset` is where the part that is being cleaned ends."""
        self.invalid_records = 0
        """Messages without a key, which a compacted log should not have."""
        self._map = offset_map
        self._delete_horizon_ms = delete_horizon_ms
        self._end_offset = end_offset
        self._tombstones_may_go = False

    def begin_segment(self, modified_ms: int) -> None:
        """The entries to come are from a file that was last modified then."""
        self._tombstones_may_go = modified_ms <= self._delete_horizon_ms

    def filter(self, batch: ConvertedEntry) -> Retained | None:
        """What stays of an entry; None for nothing."""
        kept = self._kept(batch)
        if not kept:
            return None
        if len(kept) == batch.count and batch.is_of_one_magic:
            return Retained(batch.entry.data, batch.entry.offset, batch.entry.timestamp, batch.count)
        return _rewrapped(batch, kept)

    def _kept(self, batch: ConvertedEntry) -> list[int]:
        messages = scan_records(batch)
        kept = self._map.retained(messages, batch.base_offset, batch.last_offset)
        if len(kept) < batch.count and None in messages.keys:
            self.invalid_records += messages.keys.count(None)
        if messages.tombstones and self._tombstones_may_go:
            kept = self._map.without_tombstones(kept, messages, batch.base_offset)
        last = batch.count - 1
        if batch.next_offset == self._end_offset and last not in kept[-1:]:
            kept.append(last)
        return kept


def _rewrapped(batch: ConvertedEntry, kept: list[int]) -> Retained:
    """Some messages in a wrapper of the same magic and codec; its offset becomes that of the last of them."""
    records, wrapper = read_batch(batch), batch.entry
    data = build_message_set(
        [records[index] for index in kept],
        wrapper.magic,
        wrapper.compression_type,
        log_append_time_ms=wrapper.timestamp if batch.attributes & LOG_APPEND_TIME_FLAG else None,
    )
    rewrapped = next(entries(data))
    return Retained(data, rewrapped.offset, rewrapped.timestamp, len(kept))
