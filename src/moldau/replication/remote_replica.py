"""What a leader knows of one follower, all of it from the follower's fetches (A17's lag rule).

A follower that fetches from offset n has everything before n: the fetch offset is its log end offset. It is caught up
if that is the leader's end; and when records keep coming it never quite is, so it also counts as caught up at the
moment of its last fetch if it has now everything that the leader had then.
"""

from __future__ import annotations

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError

UNKNOWN_OFFSET = -1
UNKNOWN_BROKER_EPOCH = -1
NEVER_MS = float("-inf")


class RemoteReplica:
    """A follower as its leader sees it; times are monotonic."""

    __slots__ = (
        "broker_epoch",
        "broker_id",
        "caught_up_ms",
        "fetched_leader_end_offset",
        "fetched_ms",
        "log_end_offset",
        "log_start_offset",
    )

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.forget()

    def __repr__(self) -> str:
        return f"RemoteReplica({self.broker_id}, end {self.log_end_offset}, caught up at {self.caught_up_ms} ms)"

    def forget(self) -> None:
        """Nothing is known: out of sync until it has caught up."""
        self.log_end_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.fetched_leader_end_offset = UNKNOWN_OFFSET
        self.fetched_ms = NEVER_MS
        self.caught_up_ms = NEVER_MS
        self.broker_epoch = UNKNOWN_BROKER_EPOCH

    def begin_epoch(self, leader_end_offset: int, now_ms: float, *, is_new_leader: bool, is_in_sync: bool) -> None:
        """A leader epoch begins: what is in sync gets the whole lag time to show itself."""
        if is_new_leader:
            self.forget()
        else:
            self.fetched_leader_end_offset = leader_end_offset
            self.fetched_ms = now_ms if is_in_sync else NEVER_MS
        self.caught_up_ms = now_ms if is_in_sync else NEVER_MS

    def check_broker_epoch(self, broker_epoch: int) -> None:
        """A fetch that was sent before the broker restarted must not speak for it (KIP-903)."""
        if UNKNOWN_BROKER_EPOCH < broker_epoch < self.broker_epoch:
            message = f"broker {self.broker_id} fetched with epoch {broker_epoch}, and before with {self.broker_epoch}"
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, message)

    def note_fetch(
        self, fetch_offset: int, log_start_offset: int, leader_end_offset: int, now_ms: float, broker_epoch: int
    ) -> None:
        if fetch_offset >= leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif fetch_offset >= self.fetched_leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, self.fetched_ms)
        self.log_end_offset = fetch_offset
        self.log_start_offset = log_start_offset
        self.fetched_leader_end_offset = max(self.fetched_leader_end_offset, leader_end_offset)
        self.fetched_ms = now_ms
        self.broker_epoch = max(self.broker_epoch, broker_epoch)

    def note_quiet(self, fetched_ms: float) -> None:
        """Up to its broker's last fetch, of whatever, it was fetched from the end of the log (A17)."""
        self.caught_up_ms = max(self.caught_up_ms, fetched_ms)
        self.fetched_ms = max(self.fetched_ms, fetched_ms)
        self.fetched_leader_end_offset = max(self.fetched_leader_end_offset, self.log_end_offset)

    def is_caught_up(self, leader_end_offset: int, now_ms: float, lag_time_max_ms: int) -> bool:
        return self.log_end_offset == leader_end_offset or now_ms - self.caught_up_ms <= lag_time_max_ms
