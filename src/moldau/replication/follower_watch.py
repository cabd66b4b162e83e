"""What a leader keeps of a follower's fetch session between its requests: which partitions are worth a look.

A follower of a thousand partitions fetches all of them in each request, and nearly all are quiet: the follower has
everything, knows the high watermark, and is in sync. Looking at each of them each time would cost more than all the
rest, so only those are looked at that were asked for anew, that were touched since, or that are not quiet yet:

    quiet ──(touched: an append, another high watermark, another leader)──► looked at in every fetch
      ▲                                                                          │
      └──(the follower has all and knows all, it is in sync, nothing was wrong)──┘

Being quiet is the same as being fetched all the time from the end of the log: when it ends, the follower is known to
have been caught up at the time of its last fetch, of whatever partitions that was (A17).

A fetch that has to wait waits here. One touch of one partition ends it, without a search through the others. The watch
of a follower that has not come for long ends, though its session may stay: the next fetch of the session makes another.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from moldau.base.errors import ApiError
from moldau.base.wheel import Timer
from moldau.replication.delayed import Timers
from moldau.replication.fetch_session import NEVER_TOLD, FetchSession, PartitionKey, RequestedPartition
from moldau.replication.reading import bytes_between
from moldau.replication.replicas import LogPartition, Replicas
from moldau.storage.log_directory import TopicPartition

ABANDONED_MS = 60_000

IsThrottled = Callable[[LogPartition, TopicPartition], bool]


class FollowerWatch:
    """Of one session; it watches all partitions of the session as long as that lasts.

    `attention` are the partitions to look at in the next fetch, `fetched_ms` is when the last one came. With
    `tells_high_watermark` a wait ends also for another high watermark: consumers read from the follower.
    """

    __slots__ = (
        "_end_of_wait",
        "_min_bytes",
        "_replicas",
        "_session",
        "_timer_of_wait",
        "_timers",
        "_watched",
        "attention",
        "broker_epoch",
        "broker_id",
        "fetched_ms",
        "is_throttled",
        "tells_high_watermark",
    )

    def __init__(self, replicas: Replicas, timers: Timers, session: FetchSession, broker_id: int) -> None:
        self._replicas = replicas
        self._timers = timers
        self._session = session
        self._watched: dict[Hashable, RequestedPartition] = {}
        self._end_of_wait: Callable[[], None] | None = None
        self._timer_of_wait: Timer | None = None
        self._min_bytes = 1
        self.broker_id = broker_id
        self.broker_epoch = -1
        self.fetched_ms = session.used_ms
        self.is_throttled: IsThrottled = lambda _partition, _key: False
        self.tells_high_watermark = False
        self.attention: dict[PartitionKey, RequestedPartition] = {}
        self.look_at_all(session)
        session.watch = self

    # -- which partitions

    def look_at_all(self, session: FetchSession) -> None:
        for requested in session.partitions.values():
            self.look_at(requested)

    def look_at(self, requested: RequestedPartition) -> None:
        """A partition is asked for, or asked for differently."""
        self.attention[requested.key] = requested
        if requested.topic is not None:
            key = requested.topic, requested.request.partition
            if self._watched.get(key) is not requested:
                self._watched[key] = requested
                self._replicas.fetches.watch(self, key)

    def forget(self, requested: RequestedPartition) -> None:
        self.attention.pop(requested.key, None)
        key = requested.topic, requested.request.partition
        if self._watched.get(key) is requested:
            del self._watched[key]
            self._replicas.fetches.unwatch(self, key)

    def close(self) -> None:
        """The session is over, or nobody comes any more; a fetch that waits is answered."""
        self._session.watch = None
        for key, requested in self._watched.items():
            self._replicas.fetches.unwatch(self, key)
            if requested.key not in self.attention:
                self._end_quiet(requested)
        self._watched.clear()
        self._end()

    def settle(self) -> None:
        """After an answer: leave those alone that are quiet now."""
        quiet = [key for key, requested in self.attention.items() if self._is_quiet(requested)]
        for key in quiet:
            del self.attention[key]

    def _is_quiet(self, requested: RequestedPartition) -> bool:
        if requested.topic is None:
            return False
        key = requested.topic, requested.request.partition
        if key not in self._watched:
            self.look_at(requested)  # its topic has become known just now
            return False
        partition = self._replicas.partitions.get(key)
        log = None if partition is None else partition.log
        if partition is None or log is None or requested.has_error:
            return False
        asked = requested.request
        return (
            asked.fetch_offset == log.log_end_offset
            and partition.is_leader
            and asked.current_leader_epoch in (-1, partition.leader_epoch)
            and self.broker_id in partition.isr.committed
            and not requested.has_moved(log.high_watermark, log.last_stable_offset, log.log_start_offset)
        )

    # -- waiting

    def wait(self, end_of_wait: Callable[[], None], wait_ms_max: int, min_bytes: int) -> None:
        """Call a function when a partition has something for the follower, or when the time is up."""
        self._end()
        self._min_bytes = min_bytes
        self._end_of_wait = end_of_wait
        self._replicas.fetches.delayed += 1
        self._timer_of_wait = self._timers.add(wait_ms_max, self._end)
        if any(self._ends_wait(requested) for requested in self.attention.values()):
            self._end()

    def _end(self) -> None:
        end_of_wait, self._end_of_wait = self._end_of_wait, None
        if end_of_wait is not None:
            assert self._timer_of_wait is not None
            self._timer_of_wait.cancel()
            self._replicas.fetches.delayed -= 1
            end_of_wait()

    def try_complete(self, touched: Hashable | None = None) -> bool:
        """A partition was touched; whether that ended a wait. The watch itself goes on."""
        requested = self._watched.get(touched)
        if requested is None:
            return False
        if requested.key not in self.attention:
            self.attention[requested.key] = requested
            self._end_quiet(requested)
        if self._end_of_wait is None:
            if self._replicas.clock.monotonic_ms() - self.fetched_ms > ABANDONED_MS:
                self.close()
            return False
        if not self._ends_wait(requested):
            return False
        self._end()
        return True

    def _end_quiet(self, requested: RequestedPartition) -> None:
        assert requested.topic is not None, "what is watched has a name"
        partition = self._replicas.partitions.get((requested.topic, requested.request.partition))
        replica = None if partition is None else partition.remote_replicas.get(self.broker_id)
        if replica is not None:
            replica.note_quiet(self.fetched_ms)

    def _ends_wait(self, requested: RequestedPartition) -> bool:
        """Whether the follower has to hear of a partition, of records, or that it should ask elsewhere."""
        if requested.topic is None:
            return False
        key = requested.topic, requested.request.partition
        partition = self._replicas.partitions.get(key)
        if partition is None or partition.log is None or not partition.is_leader:
            return True
        asked = requested.request
        if asked.current_leader_epoch not in (-1, partition.leader_epoch):
            return True
        log = partition.log
        if self.tells_high_watermark and requested.high_watermark not in (NEVER_TOLD, log.high_watermark):
            return True
        if asked.fetch_offset == log.log_end_offset or self.is_throttled(partition, key):
            return False
        return self._min_bytes <= 1 or self._has_enough()

    def _has_enough(self) -> bool:
        available_bytes = 0
        for requested in self.attention.values():
            asked = requested.request
            try:
                partition = self._replicas.partition((requested.topic or "", asked.partition))
                end_offset = partition.require_log().log_end_offset
                available_bytes += bytes_between(partition, asked.fetch_offset, end_offset, self._min_bytes)
            except ApiError:
                return True
        return available_bytes >= self._min_bytes
