"""The log that a follower writes to, found anew each time, since it may go offline or to another directory."""

from __future__ import annotations

import logging

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.records.batch import Buffer
from moldau.records.walk import spans
from moldau.replication.replicas import LogPartition, Replicas
from moldau.storage.leader_epochs import LeaderEpochs
from moldau.storage.log import Log
from moldau.storage.log_directories import LogDirectories
from moldau.storage.log_directory import TopicPartition
from moldau.storage.log_truncation import truncate_fully_and_start_at, truncate_to

logger = logging.getLogger(__name__)


class DiskDuties:
    """What has to be on the disk before the leader hears of it, or before more is appended."""

    __slots__ = ("_directories", "truncated", "unflushed")

    def __init__(self, directories: LogDirectories) -> None:
        self._directories = directories
        self.truncated: dict[Log, None] = {}
        """Logs that were cut. What was cut must not come back by a crash after other records took its place."""
        self.unflushed: dict[Log, None] = {}
        """Logs with as many new records as `flush.messages` lets be lost; the leader counts the next fetch as a yes."""

    async def carry_out(self) -> None:
        while self.truncated or self.unflushed:
            logs, self.truncated = self.truncated, {}
            unflushed, self.unflushed = self.unflushed, {}
            try:
                if logs:
                    await self._directories.truncated(logs)
                for log in unflushed:
                    await self._directories.flusher.flush(log)
            except ApiError as error:  # the directory is offline now, and its logs with it
                logger.warning("%d logs of followers are not on the disk: %s", len(logs | unflushed), error)


class LocalReplica:
    """The replica of one partition here; see `FollowerReplica`."""

    __slots__ = ("_duties", "_key", "_partition", "_replicas")

    def __init__(self, replicas: Replicas, key: TopicPartition, partition: LogPartition, duties: DiskDuties) -> None:
        self._replicas = replicas
        self._key = key
        self._partition = partition
        self._duties = duties

    @property
    def _log(self) -> Log:
        log = self._partition.log
        if log is None:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "its log directory is offline")
        return log

    @property
    def log_start_offset(self) -> int:
        return self._log.log_start_offset

    @property
    def log_end_offset(self) -> int:
        return self._log.log_end_offset

    @property
    def high_watermark(self) -> int:
        return self._log.high_watermark

    @property
    def leader_epochs(self) -> LeaderEpochs:
        return self._log.leader_epochs

    def append(self, records: Buffer) -> None:
        log = self._log
        try:
            if len(records) <= log.settings.segment_bytes:
                log.append_as_follower(records)
            else:  # the leader's segments are from before `segment.bytes` was lowered
                for span in spans(records):
                    log.append_as_follower(memoryview(records)[span.position : span.position + span.size_bytes])
        except OSError as error:
            raise self._replicas.directories.failed(log, error) from error
        if log.log_end_offset - log.recovery_point >= log.settings.flush_messages:
            self._duties.unflushed[log] = None

    def follow(self, high_watermark: int, log_start_offset: int) -> None:
        """Take over what the leader says; consumers that read here may wait for the high watermark."""
        log = self._log
        if self._partition.follow_high_watermark(high_watermark):
            self._replicas.fetches.touch(self._key)
        if log.log_start_offset < log_start_offset <= log.high_watermark:
            log.advance_log_start_offset(log_start_offset)

    def truncate_to(self, offset: int) -> None:
        log = self._log
        try:
            if truncate_to(log, offset):
                self._duties.truncated[log] = None
        except OSError as error:
            raise self._replicas.directories.failed(log, error) from error

    def truncate_fully_and_start_at(self, offset: int) -> None:
        log = self._log
        try:
            truncate_fully_and_start_at(log, offset)
            self._duties.truncated[log] = None
        except OSError as error:
            raise self._replicas.directories.failed(log, error) from error
