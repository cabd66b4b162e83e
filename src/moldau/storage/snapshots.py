"""The producer snapshots of a partition: one at the start of each segment and one at the end after a clean stop.

A snapshot saves replaying the log up to its offset. The newest one that is not above an offset, and is not damaged,
gives the producers there, together with the batches between the two.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from moldau.base.errors import CorruptRecord
from moldau.storage.file_names import SNAPSHOT_SUFFIX, segment_file
from moldau.storage.files import Files
from moldau.storage.producer_snapshot import decode_snapshot, encode_snapshot
from moldau.storage.producer_state import ProducerState

logger = logging.getLogger(__name__)


class Snapshots:
    """The offsets of the snapshots that there are, ascending."""

    def __init__(self, files: Files, directory: Path, offsets: Iterable[int]) -> None:
        self._files = files
        self.directory = directory
        self.offsets = sorted(offsets)

    def path(self, offset: int) -> Path:
        return self.directory / segment_file(offset, SNAPSHOT_SUFFIX)

    def take(self, state: ProducerState, offset: int, sync: bool = False) -> None:
        """Write what the producers are now, which is at an offset, unless that has been done; at 0 there are none."""
        if offset == 0 or offset in self.offsets:
            return
        self._files.replace_bytes(self.path(offset), encode_snapshot(state.producers), sync)
        self.offsets = sorted((*self.offsets, offset))

    def load(self, state: ProducerState, offset: int, now_ms: int, expiration_ms: int) -> int:
        """Make `state` what the newest good snapshot up to an offset says; the offset of that snapshot, or 0."""
        for candidate in reversed([taken for taken in self.offsets if taken <= offset]):
            try:
                entries = decode_snapshot(self._files.read_bytes(self.path(candidate)))
            except (CorruptRecord, FileNotFoundError) as error:
                logger.warning("producer snapshot %s is of no use, an earlier one is: %s", self.path(candidate), error)
                self.remove([candidate])
                continue
            state.load(entries, candidate, now_ms, expiration_ms)
            return candidate
        state.truncate_fully_and_start_at(0)
        return 0

    def remove(self, offsets: Iterable[int]) -> None:
        gone = set(offsets)
        for offset in gone:
            self._files.remove(self.path(offset))
        self.offsets = [offset for offset in self.offsets if offset not in gone]

    def remove_above(self, offset: int) -> None:
        self.remove([taken for taken in self.offsets if taken > offset])

    def remove_below(self, offset: int) -> None:
        """Those of segments that are gone; the newest at or below the offset is still needed."""
        older = [taken for taken in self.offsets if taken <= offset]
        self.remove(older[:-1])
