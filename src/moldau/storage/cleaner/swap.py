"""From a cleaned segment to a part of the log, so that no crash can hurt.

    .cleaned   being written; a start removes it
    .swap      complete and on the disk; a start puts it in the place of what it was made from
    .deleted   what it was made from; removed later, when readers are done with it, or by a start

The bytes are synced before the first rename, and file systems keep the order of renames in a directory. All renames
happen together with the change of the segment list, in the loop's thread: between them there is no moment at which a
truncation could make the cleaned segment wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

from moldau.storage.file_names import CLEANED_SUFFIX, DELETED_SUFFIX, SWAP_SUFFIX
from moldau.storage.log import Log, RemovedSegment
from moldau.storage.segment import Segment


def create_cleaned(log: Log, sources: Sequence[Segment]) -> Segment:
    """An empty segment for what stays of others, with the first one's base offset."""
    files = log.place.files
    modified_ms = files.modified_ms(sources[-1].path)
    cleaned = log.place.segment(sources[0].base_offset, log.settings, created_ms=modified_ms, state=CLEANED_SUFFIX)
    cleaned.remove()  # what an aborted cleaning may have left
    cleaned.create()
    return cleaned


def finish_cleaned(log: Log, cleaned: Segment) -> None:
    """Make it complete and durable, with the time of its sources: retention goes by it where records have none."""
    cleaned.finish()
    log.place.files.set_modified_ms(cleaned.path, cleaned.created_ms)
    cleaned.sync()


def swap_in(log: Log, sources: Sequence[Segment], cleaned: Segment) -> bool:
    """Put a cleaned segment into the log, in the loop's thread; False if the log has changed so that it cannot be."""
    current = set(log.segments)
    if not current.issuperset(sources) or log.segments.active in sources:
        return False
    cleaned.rename(SWAP_SUFFIX)
    log.segments.replace(sources, cleaned)
    due_ms = log.place.clock.now_ms() + log.settings.file_delete_delay_ms
    for source in sources:
        source.rename(DELETED_SUFFIX)
        log.removed.append(RemovedSegment(due_ms, source))
    cleaned.rename("")
    log.recent.clear()
    return True
