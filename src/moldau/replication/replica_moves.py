"""Moving replicas between the directories of one broker: a future log is filled from the current one, then they swap.

The future log is filled as a follower's would be, from its own end to the current log's, a piece at a time in a
thread, so that the loop is free, and not faster than `replica.alter.log.dirs.io.max.bytes.per.second`. When it has
caught up, the swap happens between two appends. A current log that is cut at its end, by its own leader, takes the
future log with it: that is cut to where both agree, by leader epochs, before it is filled further.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from pathlib import Path
from typing import Protocol

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.supervision import OnFailure, Supervisor
from moldau.records.batch import Buffer
from moldau.replication.followers.truncation import truncation_for
from moldau.replication.replicas import Replicas
from moldau.replication.replication_throttle import ReplicationThrottle
from moldau.storage.log import Log
from moldau.storage.log_creation import LogCreation
from moldau.storage.log_directory import TopicPartition
from moldau.storage.log_moves import LogMoves
from moldau.storage.log_reading import find_slice
from moldau.storage.log_truncation import truncate_fully_and_start_at, truncate_to

logger = logging.getLogger(__name__)

PIECE_BYTES = 1 << 20
THROTTLED_WAIT_MS = 100


class Cleaner(Protocol):
    """Who must not work on logs that change places."""

    def abort_and_pause(self, log: Log) -> None: ...
    def resume(self, log: Log) -> None: ...
    async def stopped(self, log: Log) -> None: ...
    def moved(self, log: Log, source: Path) -> None: ...


class ReplicaMoves:
    """`throttle` bounds the bytes of all moves together."""

    def __init__(
        self,
        replicas: Replicas,
        creation: LogCreation,
        moves: LogMoves,
        cleaner: Cleaner,
        throttle: ReplicationThrottle,
        supervisor: Supervisor,
    ) -> None:
        self._replicas = replicas
        self._creation = creation
        self._moves = moves
        self._cleaner = cleaner
        self._throttle = throttle
        self._supervisor = supervisor
        self._copying: dict[TopicPartition, asyncio.Task[None]] = {}

    async def move(self, key: TopicPartition, target: Path) -> None:
        """Begin to move a replica, or note where it is to be made."""
        directories = self._replicas.directories
        if not target.is_absolute():
            raise ApiError(ErrorCode.LOG_DIR_NOT_FOUND, f"{target} is not an absolute path")
        directories.directory(target)
        if key not in self._replicas.partitions or key not in directories.logs:
            self._creation.prefer(*key, target)
            raise ApiError(ErrorCode.REPLICA_NOT_AVAILABLE, f"{key[0]}-{key[1]} is not here yet")
        future = await self._moves.start_move(*key, target)
        if future is None:
            return
        self.resume(key)

    def resume(self, key: TopicPartition) -> None:
        """Go on with a move that has begun, perhaps before the last start."""
        running = self._copying.get(key)
        if running is None or running.done():
            name = f"move {key[0]}-{key[1]}"
            self._copying[key] = self._supervisor.start(name, partial(self._copy, key), OnFailure.LOG)

    async def _copy(self, key: TopicPartition) -> None:
        directories = self._replicas.directories
        source: Path | None = None
        agreed: tuple[Log, int] | None = None
        try:
            while (future := directories.future_logs.get(key)) is not None:
                current = directories.logs.get(key)
                if current is None:
                    return
                source = directories.directory_of(current).path
                if agreed != (current, current.truncations):
                    agreed = current, current.truncations
                    cut_to_agree(future, current)
                    await directories.truncated([future])
                if self._throttle.is_exceeded():
                    await asyncio.sleep(THROTTLED_WAIT_MS / 1000)
                    continue
                if await self._copy_piece(current, future):
                    continue
                if await self._finish(key, current, source):
                    return
        finally:
            self._copying.pop(key, None)

    async def _copy_piece(self, current: Log, future: Log) -> bool:
        """Copy the next piece; False if there is none."""
        directories = self._replicas.directories
        if not current.log_start_offset <= future.log_end_offset <= current.log_end_offset:
            if future.log_end_offset > current.log_end_offset:
                truncate_to(future, current.log_end_offset)
            else:
                truncate_fully_and_start_at(future, current.log_start_offset)
            await directories.truncated([future])
        truncations, start = current.truncations, future.log_end_offset  # who has been cut meanwhile is read anew
        end = current.log_end_offset
        if start >= end:
            return False

        def read() -> Buffer | None:
            found = find_slice(current, start, end, PIECE_BYTES)
            return found.read() if found is not None else None

        piece = await directories.run(directories.directory_of(current), read)
        if piece is None:
            truncate_fully_and_start_at(future, end)  # compaction has left nothing up to the end
            await directories.truncated([future])
            return True
        if current.truncations == truncations and future.log_end_offset == start:
            self._throttle.record(len(piece))
            try:
                future.append_as_follower(piece)
            except OSError as error:
                raise directories.failed(future, error) from error
        return True

    async def _finish(self, key: TopicPartition, current: Log, source: Path) -> bool:
        """Let the future log take the place of the current one, unless more came meanwhile."""
        self._cleaner.abort_and_pause(current)
        try:
            await self._cleaner.stopped(current)
            moved = await self._moves.finish_move(*key, partial(self._swap, key))
            if moved is None:
                return False
            self._cleaner.moved(moved, source)
            return True
        finally:
            self._cleaner.resume(current)

    def _swap(self, key: TopicPartition, log: Log) -> None:
        partition = self._replicas.partitions.get(key)
        if partition is not None:
            partition.log = log


def cut_to_agree(future: Log, current: Log) -> None:
    """Drop from a copy what its original does not have, or has differently since it was cut."""
    while (epoch := future.leader_epochs.latest_epoch) is not None:
        end = current.leader_epochs.end_offset_for(epoch, current.log_end_offset)
        truncation = truncation_for(end, future.leader_epochs, future.log_end_offset, future.high_watermark)
        truncate_to(future, truncation.offset)
        if truncation.is_complete:
            return
