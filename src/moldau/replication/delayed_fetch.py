"""A fetch that found fewer than `min_bytes`: it waits for more, up to `max_wait_ms`. A follower waits for appends, a
consumer for the high watermark or the last stable offset, since each sees up to there only.

It is told only that it is over. The answer is read from the log anew at that moment, so that records which came
between the first read and the end of the wait are in it, and an error that ended the wait shows in that read.

A wait ends, besides by enough bytes, as soon as any of its partitions would answer differently than by waiting: it is
not led from here any more, its epoch has changed, its log is offline or gone, it was truncated below the fetch offset,
or its history diverges from the fetcher's (KIP-595).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from enum import Enum
from typing import NamedTuple, Protocol

from moldau.base.errors import ApiError
from moldau.replication.delayed import DelayedOperation
from moldau.storage.leader_epochs import EpochEndOffset


class FetchIsolation(Enum):
    """Up to where a fetcher sees."""

    LOG_END = "log end offset"
    HIGH_WATERMARK = "high watermark"
    TXN_COMMITTED = "last stable offset"


class FetchWait(NamedTuple):
    """What a parked fetch wants of one partition; -1 as an epoch: the fetcher did not say."""

    fetch_offset: int
    bytes_max: int
    current_leader_epoch: int = -1
    last_fetched_epoch: int = -1


class FetchablePartition(Protocol):
    """What a parked fetch needs to know of a partition; all of it may raise `ApiError`."""

    def fetch_end_offset(self, isolation: FetchIsolation, current_leader_epoch: int, *, only_leader: bool) -> int: ...

    def diverging_epoch(
        self, current_leader_epoch: int, last_fetched_epoch: int, fetch_offset: int
    ) -> EpochEndOffset | None: ...


class DelayedFetch(DelayedOperation):
    """`partition_of` finds a partition by its key or raises; `send` reads again and answers.

    `bytes_between` says about how many bytes of batches there are from one offset of a partition to another, and more
    than anybody asks for if that cannot be said cheaply, as when the two are in different segments.
    """

    __slots__ = (
        "_available_bytes",
        "_bytes_between",
        "_isolation",
        "_min_bytes",
        "_only_leader",
        "_partition_of",
        "_send",
        "_waits",
    )

    def __init__(
        self,
        max_wait_ms: int,
        min_bytes: int,
        waits: Mapping[Hashable, FetchWait],
        partition_of: Callable[[Hashable], FetchablePartition],
        bytes_between: Callable[[Hashable, int, int], int],
        send: Callable[[], None],
        *,
        isolation: FetchIsolation,
        only_leader: bool = True,
    ) -> None:
        super().__init__(max_wait_ms)
        self._min_bytes = min_bytes
        self._waits = waits
        self._partition_of = partition_of
        self._bytes_between = bytes_between
        self._send = send
        self._isolation = isolation
        self._only_leader = only_leader
        self._available_bytes: dict[Hashable, int] = {}  # by partition; those with nothing are left out

    def can_complete(self, touched: Hashable | None) -> bool:
        available_bytes = self._available_bytes
        try:
            for key in self._waits if touched is None else (touched,):
                size_bytes = self._available(key, self._waits[key])
                if size_bytes is None:
                    return True
                if size_bytes or key in available_bytes:
                    available_bytes[key] = size_bytes
        except ApiError:
            return True
        return sum(available_bytes.values()) >= self._min_bytes

    def _available(self, key: Hashable, wait: FetchWait) -> int | None:
        """How many bytes a read would give; None if the fetcher has to hear something else at once."""
        partition = self._partition_of(key)
        fetch_offset, bytes_max, current_leader_epoch, last_fetched_epoch = wait
        end_offset = partition.fetch_end_offset(self._isolation, current_leader_epoch, only_leader=self._only_leader)
        if fetch_offset > end_offset:
            return None
        if last_fetched_epoch >= 0 and partition.diverging_epoch(
            current_leader_epoch, last_fetched_epoch, fetch_offset
        ):
            return None
        if fetch_offset == end_offset:
            return 0
        return min(self._bytes_between(key, fetch_offset, end_offset), bytes_max)

    def on_complete(self, expired: bool) -> None:  # noqa: ARG002 - a fetch that timed out is answered with what there is
        self._send()
