"""Producer state from the log: the newest snapshot, and the batches after it."""

from __future__ import annotations

from collections.abc import Iterable

from moldau.storage.log import Log
from moldau.storage.producer_state import ProducerState
from moldau.storage.segment import Segment


def restore_producers(log: Log) -> None:
    """Make the producer state what it was when the log ended where it ends now."""
    now_ms = log.place.clock.now_ms()
    state = log.producer_state
    start = log.snapshots.load(state, log.log_end_offset, now_ms, log.producer_expiration_ms)
    replay(state, log.segments.from_offset(start), start)
    state.map_end_offset = log.log_end_offset
    state.on_high_watermark(log.high_watermark)


def replay(state: ProducerState, segments: Iterable[Segment], first_offset: int) -> None:
    """Take in the batches of segments from an offset on; only those of idempotent producers are read whole."""
    for segment in segments:
        position = segment.offset_index.lookup(first_offset).position if first_offset > segment.base_offset else 0
        for summary in segment.scan(position):
            if summary.base_offset >= first_offset and summary.producer_id >= 0:
                state.replay(segment.batch(summary))
