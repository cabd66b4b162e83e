"""Which segments are cleaned into one: neighbours that fit into a segment even if everything in them stays."""

from __future__ import annotations

from collections.abc import Sequence

from moldau.storage.log_settings import LogSettings
from moldau.storage.segment import RELATIVE_OFFSET_MAX, Segment

GROUP_SEGMENTS_MAX = 64
"""Each has files to rename when its group is swapped, in the loop."""


def group_segments(segments: Sequence[Segment], settings: LogSettings, end_offset: int) -> list[list[Segment]]:
    """Groups in order; `end_offset` is where the offsets of the last segment end."""
    ends = [segment.base_offset for segment in segments[1:]] + [end_offset]
    groups: list[list[Segment]] = []
    log_bytes = offset_index_bytes = time_index_bytes = 0
    for segment, end in zip(segments, ends, strict=True):
        log_bytes += segment.size_bytes
        offset_index_bytes += segment.offset_index.size_bytes
        time_index_bytes += segment.time_index.size_bytes
        if (
            groups
            and log_bytes <= settings.segment_bytes
            and max(offset_index_bytes, time_index_bytes) <= settings.segment_index_bytes
            and (not segment.size_bytes or end - 1 - groups[-1][0].base_offset <= RELATIVE_OFFSET_MAX)
            and len(groups[-1]) < GROUP_SEGMENTS_MAX
        ):
            groups[-1].append(segment)
        else:
            groups.append([segment])
            log_bytes = segment.size_bytes
            offset_index_bytes = segment.offset_index.size_bytes
            time_index_bytes = segment.time_index.size_bytes
    return groups
