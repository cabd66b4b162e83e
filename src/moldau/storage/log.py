"""The log of one partition: an append-only run of batches in segments, with all that is derived from it.

    log start offset ≤ high watermark ≤ log end offset; the recovery point is up to where it is known to be on disk

Everything here happens in one thread, the loop's, and costs no more than a write into the page cache. What waits for a
disk is somebody else's to run in a thread: `unflushed` says what to sync, `flushed` is told afterwards; a read that is
not in the cache raises `NotInCache` and is repeated where waiting is allowed; files that are gone from the log are
renamed here and removed later, so that readers of them can finish.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.records.batch import Buffer, RecordBatch
from moldau.records.record import NO_TIMESTAMP
from moldau.storage.checkpoints import write_leader_epochs
from moldau.storage.file_names import DELETED_SUFFIX
from moldau.storage.leader_epochs import EpochEntry, LeaderEpochs
from moldau.storage.log_place import LogPlace
from moldau.storage.log_settings import LogSettings
from moldau.storage.plain_append import RECENT_BATCHES_MAX, append_plain
from moldau.storage.producer_append import NOTHING_PREPARED, AppendOrigin, CompletedTransaction, PreparedAppend
from moldau.storage.producer_state import ProducerState
from moldau.storage.producer_verification import VerificationGuard
from moldau.storage.scan import BatchSummary
from moldau.storage.segment import RELATIVE_OFFSET_MAX, Segment
from moldau.storage.segments import Segments
from moldau.storage.snapshots import Snapshots
from moldau.storage.transaction_index import AbortedTransaction
from moldau.storage.validation import LeaderValidation, follower_batches

PRODUCER_EXPIRATION_MS = 24 * 60 * 60 * 1000  # producer.id.expiration.ms

_CLIENT, _COORDINATOR = AppendOrigin.CLIENT, AppendOrigin.COORDINATOR  # looking up a member costs more than comparing
_new_tuple = tuple.__new__


class AppendResult(NamedTuple):
    """Where records went; for a duplicate, where they went the first time."""

    first_offset: int
    last_offset: int
    log_append_time: int
    log_start_offset: int
    duplicate: bool = False


class RemovedSegment(NamedTuple):
    """A segment that is no longer part of the log, and when its files may go."""

    due_ms: int
    segment: Segment


class UnsavedEpochs(NamedTuple):
    """The leader epochs of a log as they were at a moment; may be saved in any thread."""

    place: LogPlace
    version: int
    entries: list[EpochEntry]

    def save(self) -> None:
        write_leader_epochs(self.place.files, self.place.epochs_path, self.entries)


class Log:
    """One partition's log; made by `log_loading.load_log`."""

    def __init__(
        self,
        place: LogPlace,
        settings: LogSettings,
        segments: Segments,
        leader_epochs: LeaderEpochs,
        producer_state: ProducerState,
        snapshots: Snapshots,
        *,
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
        producer_expiration_ms: int = PRODUCER_EXPIRATION_MS,
    ) -> None:
        self.place = place
        self.settings = settings
        self.segments = segments
        self.leader_epochs = leader_epochs
        self.producer_state = producer_state
        self.snapshots = snapshots
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.recovery_point = recovery_point
        self.producer_expiration_ms = producer_expiration_ms
        self.high_watermark = log_start_offset
        self.truncations = 0  # how often it was cut at its end
        self.epochs_version = self.saved_epochs_version = 0  # how often the epochs have changed
        self.is_changed = True  # not when it was loaded after a clean stop, and is as it was then
        self.on_roll: Callable[[Log], None] = lambda _log: None
        self.flushed_ms = place.clock.now_ms()
        self.removed: deque[RemovedSegment] = deque()
        self.recent: dict[int, tuple[Segment, int, int]] = {}  # base offset → segment, position, size
        self.segment_ms = self._jittered()
        self.indexes_flushed = -1  # the end of the log when the indexes of its active segment were synced
        self.validation = LeaderValidation(settings, self.place.clock)

    def __repr__(self) -> str:
        return f"Log({self.place}, [{self.log_start_offset}, {self.log_end_offset}))"

    @property
    def size_bytes(self) -> int:
        return self.segments.size_bytes

    @property
    def last_stable_offset(self) -> int:
        """Up to where readers of committed records see; DeleteRecords may go past the start of an open transaction."""
        return max(self.log_start_offset, self.producer_state.last_stable_offset(self.high_watermark))

    def advance_high_watermark(self, offset: int) -> bool:
        """Whether it moved; it never moves back but by truncation, nor beyond the end."""
        offset = min(offset, self.log_end_offset)
        if offset <= self.high_watermark:
            return False
        self.high_watermark = offset
        self.producer_state.on_high_watermark(offset)
        return True

    def configure(self, settings: LogSettings) -> None:
        """Obey other settings from now on; segments that exist keep their index sizes."""
        self.settings = settings
        self.segment_ms = self._jittered()
        self.validation = LeaderValidation(settings, self.place.clock)

    def _jittered(self) -> int:
        """Partitions that began together must not all roll together."""
        settings = self.settings
        jitter_ms = min(settings.segment_jitter_ms, settings.segment_ms)
        segment_ms = settings.segment_ms
        if settings.compact:  # only what is in no active segment can be cleaned in time
            segment_ms = min(segment_ms, settings.max_compaction_lag_ms)
        return segment_ms - (self.place.random.randrange(jitter_ms) if jitter_ms else 0)

    # -- appending

    def append_as_leader(
        self,
        data: Buffer,
        leader_epoch: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        *,
        guard: VerificationGuard | None = None,
        verification_required: bool = False,
        transaction_version: int = 0,
    ) -> AppendResult:
        """Check the batches, give them their offsets and this leader's epoch, and write them."""
        first_offset = self.log_end_offset
        validation = self.validation
        # What a coordinator writes is as it should be, and is not looked into.
        length_max = validation.plain_length_max if origin is _CLIENT else validation.length_max
        if (origin is _CLIENT or origin is _COORDINATOR) and append_plain(self, (data,), leader_epoch, length_max):
            values = first_offset, self.log_end_offset - 1, NO_TIMESTAMP, self.log_start_offset, False
            return _new_tuple(AppendResult, values)  # half the price of the constructor
        data, batches, log_append_time = validation.batches(data, origin, first_offset, leader_epoch)
        prepared = NOTHING_PREPARED
        if batches[0].producer_id >= 0 or len(batches) > 1:
            prepared = self.producer_state.prepare(
                batches,
                origin,
                guard=guard,
                verification_required=verification_required,
                transaction_version=transaction_version,
            )
            if (original := prepared.duplicate) is not None:
                first_offset = original.last_offset - original.offset_delta
                return AppendResult(first_offset, original.last_offset, original.timestamp, self.log_start_offset, True)
        self._write(data, batches, prepared)
        return AppendResult(first_offset, self.log_end_offset - 1, log_append_time, self.log_start_offset)

    def append_as_follower(self, data: Buffer) -> AppendResult | None:
        """Write the batches as the leader has them; None if there is no whole one."""
        batches = follower_batches(data, self.log_end_offset)
        if not batches:
            return None
        end = batches[-1].position + batches[-1].size_bytes
        prepared = self.producer_state.prepare(batches, AppendOrigin.REPLICATION)
        self._write(memoryview(data)[:end] if end < len(data) else data, batches, prepared)
        return AppendResult(batches[0].base_offset, self.log_end_offset - 1, NO_TIMESTAMP, self.log_start_offset)

    def _write(self, data: Buffer, batches: list[RecordBatch], prepared: PreparedAppend) -> None:
        segment = self._segment_for(len(data), batches)
        self.is_changed = True
        position = segment.size_bytes
        segment.append(data, batches)
        last = batches[-1]
        self.log_end_offset = end_offset = last.base_offset + last.last_offset_delta + 1
        if prepared is NOTHING_PREPARED:
            self.producer_state.map_end_offset = end_offset
        else:
            self.note_completed(segment, prepared.completed)
            self.producer_state.commit(prepared, end_offset)
        if last.leader_epoch != self.leader_epochs.latest_epoch:
            self.note_epochs(batches)
        recent = self.recent
        for batch in batches:
            recent[batch.base_offset] = segment, position, batch.size_bytes
            position += batch.size_bytes
        if len(recent) > RECENT_BATCHES_MAX:
            self.forget_older()

    def forget_older(self) -> None:
        """Keep only the later half of what was appended recently; one by one would cost more than the appends."""
        self.recent = dict(islice(self.recent.items(), len(self.recent) - RECENT_BATCHES_MAX // 2, None))

    def note_completed(self, segment: Segment, completed: Iterable[CompletedTransaction]) -> None:
        """Put the aborted ones among completed transactions into the index of the segment with their markers."""
        for producer_id, first_offset, last_offset, aborted, last_stable_offset in completed:
            if aborted:
                transaction = AbortedTransaction(producer_id, first_offset, last_offset, last_stable_offset)
                segment.transaction_index.append(transaction)

    def note_epochs(self, batches: Iterable[RecordBatch | BatchSummary]) -> None:
        """Epochs that begin with one of these batches."""
        latest = self.leader_epochs.latest_epoch
        for batch in batches:
            if batch.leader_epoch >= 0 and (latest is None or batch.leader_epoch > latest):
                self.start_epoch(batch.leader_epoch, batch.base_offset)
                latest = batch.leader_epoch

    def start_epoch(self, epoch: int, start_offset: int) -> None:
        """Note where a leader epoch begins: when its first batch comes, or when this broker becomes leader."""
        if self.leader_epochs.assign(epoch, start_offset):
            self.epochs_changed()

    def epochs_changed(self) -> None:
        """They are to be saved before the recovery point moves: what comes after it is built again from the batches.

        The checkpoint is never replaced by one that is not on the disk. It may be older than the log, and then says too
        little or too much of what is recovered, but nothing wrong of what is not.
        """
        self.is_changed = True
        self.epochs_version += 1

    # -- rolling

    def _segment_for(self, size_bytes: int, batches: list[RecordBatch]) -> Segment:
        """The active segment, or a new one if an append of this size and time does not belong in it."""
        active, segment_bytes = self.segments.active, self.settings.segment_bytes
        if size_bytes > segment_bytes:
            raise ApiError(
                ErrorCode.RECORD_LIST_TOO_LARGE,
                f"{size_bytes} bytes of records do not fit in a segment of {segment_bytes} (segment.bytes)",
            )
        timestamp = max(batch.max_timestamp for batch in batches)
        if self.belongs(active, size_bytes, batches[-1].last_offset, timestamp):
            return active
        return self.roll(batches[0].base_offset)

    def belongs(self, active: Segment, size_bytes: int, last_offset: int, timestamp: int) -> bool:
        """Whether the active segment has room for an append, and is not too old for it.

        Its age is between its first batch and the one to come, or by the clock where these have no timestamp.
        """
        active_bytes = active.size_bytes
        if (
            active_bytes + size_bytes > self.settings.segment_bytes
            or last_offset - active.base_offset > RELATIVE_OFFSET_MAX
            or active.is_full
        ):
            return False
        if not active_bytes:
            return True
        first_timestamp = active.first_timestamp
        if timestamp >= 0 and first_timestamp >= 0:
            return timestamp - first_timestamp <= self.segment_ms
        return self.place.clock.now_ms() - active.created_ms <= self.segment_ms

    def roll(self, base_offset: int | None = None) -> Segment:
        """Begin a new active segment; an empty one is not rolled."""
        active = self.segments.active
        base_offset = self.log_end_offset if base_offset is None else base_offset
        if active.base_offset == base_offset:
            return active
        active.finish()
        self.snapshots.take(self.producer_state, base_offset)
        segment = self.start_segment(base_offset)
        self.recovery_point = min(self.recovery_point, active.base_offset)  # its indexes have just changed
        self.on_roll(self)
        return segment

    def start_segment(self, base_offset: int) -> Segment:
        """Make the next active segment."""
        segment = self.place.segment(base_offset, self.settings, created_ms=self.place.clock.now_ms())
        segment.create(self.settings.segment_bytes if self.settings.preallocate else 0)
        self.segments.add(segment)
        self.is_changed = True
        return segment

    # -- durability

    @property
    def is_flush_due(self) -> bool:
        """Whether `flush.messages` or `flush.ms` ask for a flush."""
        unflushed = self.log_end_offset - self.recovery_point
        if unflushed <= 0:
            return False
        age_ms = self.place.clock.now_ms() - self.flushed_ms
        return unflushed >= self.settings.flush_messages or age_ms >= self.settings.flush_ms

    @property
    def checkpointed_recovery_point(self) -> int:
        """What a checkpoint may say. The next start builds the indexes of the segment again that this is in.

        Flushes leave the indexes of the active segment out, so it is in that one even if all records are on the disk:
        the log may be rolled at its very end, and the segment before would not be looked at.
        """
        if self.recovery_point == self.indexes_flushed:
            return self.recovery_point
        return min(self.recovery_point, max(self.segments.active.base_offset, self.log_end_offset - 1))

    def unflushed(self) -> list[Segment]:
        """What has to be synced, in a thread, for all that is in the log now to be durable."""
        return self.segments.from_offset(self.recovery_point)

    def flushed(self, offset: int) -> None:
        """Everything before an offset has been synced."""
        self.recovery_point = max(self.recovery_point, min(offset, self.log_end_offset))
        self.flushed_ms = self.place.clock.now_ms()

    def flush(self) -> None:
        """Make everything durable, and wait for it."""
        offset = self.log_end_offset
        for segment in self.unflushed():
            segment.sync()
        if (epochs := self.unsaved_epochs()) is not None:
            epochs.save()
            self.saved_epochs_version = epochs.version
        self.place.files.sync_directory(self.place.directory)
        self.flushed(offset)
        self.indexes_flushed = offset

    def unsaved_epochs(self) -> UnsavedEpochs | None:
        """What has to be saved along with a sync, if it is not saved already."""
        if self.epochs_version == self.saved_epochs_version:
            return None
        return UnsavedEpochs(self.place, self.epochs_version, self.leader_epochs.entries)

    def close(self) -> None:
        """A clean stop: all on disk, a snapshot at the end, indexes cut to size; unless nothing has changed."""
        if self.is_changed:
            self.segments.active.finish()
            self.snapshots.take(self.producer_state, self.log_end_offset, sync=True)
            self.flush()
        self.forget_files()

    def forget_files(self) -> None:
        """Let go of open files before the directory gets another name, or another owner."""
        for segment in [*self.segments, *(removed.segment for removed in self.removed)]:
            segment.forget_files()

    def move_to(self, directory: Path) -> None:
        """Go on in the same directory under another name."""
        self.segments.active.finish()  # it may be preallocated, and then only the open file knows its end
        self.forget_files()
        self.place.files.rename(self.place.directory, directory)
        self.place = replace(self.place, directory=directory)
        self.snapshots.directory = directory
        for segment in [*self.segments, *(removed.segment for removed in self.removed)]:
            segment.move_to(directory)

    # -- removing

    def remove_segments(self, segments: Iterable[Segment]) -> None:
        """Take segments out of the log; their files go after `file.delete.delay.ms`, when readers are done."""
        due_ms = self.place.clock.now_ms() + self.settings.file_delete_delay_ms
        self.is_changed = True
        for segment in list(segments):
            self.segments.remove(segment)
            segment.rename(DELETED_SUFFIX)
            self.removed.append(RemovedSegment(due_ms, segment))
        self.recent.clear()

    def remove_due_files(self, now_ms: int) -> int:
        """Remove the files whose time has come; how many segments that were."""
        count = 0
        while self.removed and self.removed[0].due_ms <= now_ms:
            self.removed.popleft().segment.remove()
            count += 1
        return count

    def advance_log_start_offset(self, offset: int) -> bool:
        """Forget what is before an offset: DeleteRecords, retention, or the leader's start; whether it moved."""
        if offset > self.high_watermark:
            raise ApiError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"the log cannot start at {offset}, which is above its high watermark {self.high_watermark}",
            )
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        if self.leader_epochs.truncate_from_start(offset):
            self.epochs_changed()
        self.producer_state.on_log_start_offset(offset)
        return True
