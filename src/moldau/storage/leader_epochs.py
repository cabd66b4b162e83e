"""Which leader wrote which offsets: the start offset of every leader epoch that a log has records of (KIP-101).

    epochs (0, 0) (1, 120), log end 150        0 ........... 120 ......... 150
                                               └─ epoch 0 ──┘└─ epoch 1 ──┘

Both columns rise strictly, so each is a sorted list and every question is a binary search. A leader gets an entry when
it takes over, before its first record, so that it can answer for its epoch at once; a follower gets one with the first
record of an epoch. An epoch that ended without a record has the start of its successor and is replaced by it.

Every change says whether it changed anything: the caller then writes the checkpoint, at once.
"""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

logger = logging.getLogger(__name__)


class EpochEntry(NamedTuple):
    epoch: int
    start_offset: int


class EpochEndOffset(NamedTuple):
    """The answer to OffsetForLeaderEpoch: where the epoch, or the nearest one before it, ends."""

    epoch: int
    end_offset: int


UNDEFINED_EPOCH_END_OFFSET = EpochEndOffset(-1, -1)


class LeaderEpochs:
    """The epochs of one partition's log."""

    __slots__ = ("_epochs", "_partition", "_start_offsets", "latest_epoch")

    def __init__(self, partition: str, entries: Iterable[tuple[int, int]] = ()) -> None:
        """`partition` is its name in log lines; entries that contradict later ones are dropped."""
        self._partition = partition
        self._epochs: list[int] = []
        self._start_offsets: list[int] = []
        self.latest_epoch: int | None = None  # not a property: it is looked at for every append
        for epoch, start_offset in entries:
            self.assign(epoch, start_offset)

    @property
    def entries(self) -> list[EpochEntry]:
        return list(map(EpochEntry, self._epochs, self._start_offsets))

    def previous_epoch(self, epoch: int) -> int | None:
        """The greatest epoch below one, whether or not that one is here."""
        index = bisect_left(self._epochs, epoch)
        return self._epochs[index - 1] if index else None

    def epoch_for_offset(self, offset: int) -> int | None:
        """The epoch of the record at an offset; None before the first entry."""
        index = bisect_right(self._start_offsets, offset)
        return self._epochs[index - 1] if index else None

    def end_offset_for(self, requested_epoch: int, log_end_offset: int) -> EpochEndOffset:
        """Up to where a follower whose last records are of `requested_epoch` agrees with this log.

        For an epoch before the first one the records are gone: the answer is the requested epoch and the first start
        offset, so that the follower goes on from there.
        """
        epochs = self._epochs
        if not epochs or requested_epoch < 0 or requested_epoch > epochs[-1]:
            return UNDEFINED_EPOCH_END_OFFSET
        if requested_epoch == epochs[-1]:
            return EpochEndOffset(requested_epoch, log_end_offset)
        index = bisect_right(epochs, requested_epoch)
        return EpochEndOffset(epochs[index - 1] if index else requested_epoch, self._start_offsets[index])

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Note that `epoch` starts at an offset, unless it is the latest one and has started already."""
        assert epoch >= 0, f"epoch {epoch}"
        assert start_offset >= 0, f"start offset {start_offset}"
        epochs, start_offsets = self._epochs, self._start_offsets
        if epochs and epoch == epochs[-1] and start_offset >= start_offsets[-1]:
            return False
        kept = min(bisect_left(epochs, epoch), bisect_left(start_offsets, start_offset))
        if start_offsets[kept:] not in ([], [start_offset]):  # an epoch without records is replaced in silence
            logger.warning(
                "%s: epoch %d from offset %d replaces the later entries %s",
                self._partition,
                epoch,
                start_offset,
                self.entries[kept:],
            )
        epochs[kept:] = [epoch]
        start_offsets[kept:] = [start_offset]
        self.latest_epoch = epoch
        return True

    def truncate_from_end(self, end_offset: int) -> bool:
        """Forget the epochs that start at or after the log's new end."""
        kept = bisect_left(self._start_offsets, end_offset)
        changed = kept < len(self._epochs)
        del self._epochs[kept:]
        del self._start_offsets[kept:]
        self.latest_epoch = self._epochs[-1] if kept else None
        return changed

    def truncate_from_start(self, start_offset: int) -> bool:
        """Forget the epochs that end before the log's new start; the one that it falls into starts there now."""
        index = bisect_right(self._start_offsets, start_offset) - 1
        if index < 0 or (index == 0 and self._start_offsets[0] == start_offset):
            return False
        self._start_offsets[index] = start_offset
        del self._epochs[:index]
        del self._start_offsets[:index]
        return True

    def clear(self) -> bool:
        changed = bool(self._epochs)
        self._epochs.clear()
        self._start_offsets.clear()
        self.latest_epoch = None
        return changed
