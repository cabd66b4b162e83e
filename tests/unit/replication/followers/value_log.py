"""A log of named records in memory, as a leader and as a follower need it."""

from __future__ import annotations

import json
from typing import NamedTuple

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.records.batch import Buffer
from moldau.storage.leader_epochs import LeaderEpochs


class Entry(NamedTuple):
    offset: int
    epoch: int
    value: str


class ValueLog:
    """`error` is raised by everything that writes, once it is set."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.high_watermark = 0
        self.leader_epochs = LeaderEpochs("values")
        self.error: ErrorCode | None = None

    @property
    def values(self) -> list[str]:
        return [entry.value for entry in self.entries]

    @property
    def last_stable_offset(self) -> int:
        return self.high_watermark

    # -- as a leader

    def write(self, epoch: int, value: str) -> None:
        self.start_epoch(epoch, self.log_end_offset)
        self.entries.append(Entry(self.log_end_offset, epoch, value))
        self.log_end_offset += 1

    def start_epoch(self, epoch: int, start_offset: int) -> None:
        self.leader_epochs.assign(epoch, start_offset)

    def advance_high_watermark(self, offset: int) -> bool:
        offset = min(offset, self.log_end_offset)
        if offset <= self.high_watermark:
            return False
        self.high_watermark = offset
        return True

    def read(self, offset: int, count_max: int) -> bytes:
        """What `append` takes."""
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE)
        found = [entry for entry in self.entries if entry.offset >= offset][:count_max]
        return json.dumps(found).encode() if found else b""

    # -- as a follower

    def append(self, records: Buffer) -> None:
        self._check()
        for offset, epoch, value in json.loads(bytes(records)):
            assert offset == self.log_end_offset, f"offset {offset} cannot follow {self.log_end_offset - 1}"
            self.write(epoch, value)

    def follow(self, high_watermark: int, log_start_offset: int) -> None:
        self.advance_high_watermark(high_watermark)
        if log_start_offset <= self.high_watermark:
            self.log_start_offset = max(self.log_start_offset, log_start_offset)
            self.entries = [entry for entry in self.entries if entry.offset >= self.log_start_offset]

    def truncate_to(self, offset: int) -> None:
        self._check()
        self.entries = [entry for entry in self.entries if entry.offset < offset]
        self.log_end_offset = min(self.log_end_offset, offset)
        self.high_watermark = min(self.high_watermark, offset)
        self.leader_epochs.truncate_from_end(offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        self._check()
        self.entries.clear()
        self.log_start_offset = self.log_end_offset = self.high_watermark = offset
        self.leader_epochs.clear()

    def _check(self) -> None:
        if self.error is not None:
            raise ApiError(self.error)
