"""One partition on one broker, as its leader or as a follower, without any I/O.

    log start ≤ low watermark … high watermark ≤ log end of every in-sync replica

The leader learns where followers are from their fetches. Records below the high watermark are in all in-sync replicas,
and only they are shown to consumers and acknowledged to producers with acks=all. It is the smallest log end offset of
the maximal ISR and of the replicas that keep up and will be in the ISR soon, and it never moves back (X8). While fewer
than `min.insync.replicas` are in sync it stands still (KIP-966).

After an append the order is: followers' parked fetches first, then `advance_high_watermark`, then whoever waits for
that (A20); the owner of the purgatories does it in this order. What has to happen elsewhere is returned: `Moved` says
which waiting requests to look at, `IsrProposal` what to ask of the controller.

A change of leadership is obeyed only if it is not older than what is known, by leader epoch and by partition epoch
(the version of the partition's state in the coordination store).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.replication.delayed_fetch import FetchIsolation
from moldau.replication.in_sync_replicas import AFTER_ERROR, AfterError, InSyncReplicas, IsrProposal
from moldau.replication.partition_state import NO_EPOCH, NO_LEADER, LeaderAndIsr, Moved, PartitionLog
from moldau.replication.remote_replica import UNKNOWN_BROKER_EPOCH, RemoteReplica
from moldau.storage.leader_epochs import UNDEFINED_EPOCH_END_OFFSET, EpochEndOffset

DELETE_TO_HIGH_WATERMARK = -1
LogT = TypeVar("LogT", bound=PartitionLog)


class Partition(Generic[LogT]):
    """`log` is None while the directory with it is offline; `is_alive` tells whether a broker is registered."""

    def __init__(
        self,
        name: str,
        broker_id: int,
        log: LogT | None,
        *,
        min_insync_replicas: int,
        replica_lag_time_max_ms: int,
        is_alive: Callable[[int], bool],
    ) -> None:
        self.name = name
        self.broker_id = broker_id
        self.log = log
        self.min_insync_replicas = min_insync_replicas
        self.replica_lag_time_max_ms = replica_lag_time_max_ms
        self._is_alive = is_alive
        self.leader = NO_LEADER
        self.leader_epoch = NO_EPOCH
        self.partition_epoch = NO_EPOCH
        self.leader_epoch_start_offset: int | None = None
        self.replicas: tuple[int, ...] = ()
        self.adding_replicas: tuple[int, ...] = ()
        self.isr = InSyncReplicas()
        self.remote_replicas: dict[int, RemoteReplica] = {}

    def __repr__(self) -> str:
        return f"Partition({self.name}, leader {self.leader}, epoch {self.leader_epoch}, isr {self.isr.committed})"

    # -- who leads

    @property
    def is_leader(self) -> bool:
        return self.leader == self.broker_id

    def become_leader(self, state: LeaderAndIsr, now_ms: float) -> bool:
        """Lead from now on, or obey a change of replicas; whether the high watermark moved."""
        assert state.leader == self.broker_id, "another broker leads"
        if not self._is_news(state):
            return False
        log = self.require_log(only_leader=False)
        is_new_leader, is_new_epoch = not self.is_leader, state.leader_epoch > self.leader_epoch
        self._obey(state)
        self._replace_remote_replicas(replica for replica in state.replicas if replica != self.broker_id)
        self.isr.commit(state.isr)
        if is_new_epoch:
            self.leader_epoch_start_offset = log.log_end_offset
            log.start_epoch(state.leader_epoch, log.log_end_offset)
            for replica in self.remote_replicas.values():
                is_in_sync = replica.broker_id in self.isr.maximal
                replica.begin_epoch(log.log_end_offset, now_ms, is_new_leader=is_new_leader, is_in_sync=is_in_sync)
        return self.advance_high_watermark(now_ms)

    def become_follower(self, state: LeaderAndIsr) -> bool:
        """Follow from now on; whether the epoch is new, and so fetching has to begin anew, with truncation."""
        assert state.leader != self.broker_id, "this broker leads"
        if not self._is_news(state):
            return False
        is_new_epoch = state.leader_epoch > self.leader_epoch
        self._obey(state)
        self.leader_epoch_start_offset = None
        self.remote_replicas = {}
        self.isr.commit(())
        return is_new_epoch

    def _is_news(self, state: LeaderAndIsr) -> bool:
        """False if it is known already; a proposal that is out is then still out. What is older is refused."""
        if state.leader_epoch < self.leader_epoch or state.partition_epoch < self.partition_epoch:
            known = f"leader epoch {self.leader_epoch}, partition epoch {self.partition_epoch}"
            message = f"{self.name} has {known}; refused are {state.leader_epoch}, {state.partition_epoch}"
            raise ApiError(ErrorCode.STALE_CONTROLLER_EPOCH, message)
        if state.leader_epoch > self.leader_epoch:
            return True
        assert state.leader == self.leader, f"{self.name} has two leaders in epoch {state.leader_epoch}"
        return state.partition_epoch > self.partition_epoch

    def _obey(self, state: LeaderAndIsr) -> None:
        self.leader = state.leader
        self.leader_epoch = state.leader_epoch
        self.partition_epoch = state.partition_epoch
        self.replicas = state.replicas
        self.adding_replicas = state.adding_replicas

    def _replace_remote_replicas(self, broker_ids: Iterable[int]) -> None:
        known = self.remote_replicas
        self.remote_replicas = {broker_id: known.get(broker_id) or RemoteReplica(broker_id) for broker_id in broker_ids}

    def go_offline(self) -> None:
        """The directory of the log has failed; until it is back every request is refused."""
        self.log = None

    # -- who may ask

    def require_log(self, current_leader_epoch: int = NO_EPOCH, *, only_leader: bool = True) -> LogT:
        """The log, for a request that knows of this leader epoch (KIP-320), or an error that sends it elsewhere."""
        if self.log is None:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log directory of {self.name} is offline")
        if current_leader_epoch != NO_EPOCH and current_leader_epoch != self.leader_epoch:
            is_old = current_leader_epoch < self.leader_epoch
            code = ErrorCode.FENCED_LEADER_EPOCH if is_old else ErrorCode.UNKNOWN_LEADER_EPOCH
            raise ApiError(code, f"{self.name} is in leader epoch {self.leader_epoch}, not {current_leader_epoch}")
        if only_leader and not self.is_leader:
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.name} is not led by broker {self.broker_id}")
        return self.log

    def require_min_isr(self) -> None:
        """Before a record with acks=all is appended: it must not end up in fewer replicas than it should."""
        if self.is_under_min_isr:
            message = f"{self.name} has in-sync replicas {self.isr.committed}, needed are {self.effective_min_isr}"
            raise ApiError(ErrorCode.NOT_ENOUGH_REPLICAS, message)

    def replicated_to(self, required_offset: int) -> ErrorCode | None:
        """How a record with acks=all that ends at an offset fares: NONE, an error, or None if it has to wait.

        With fewer in-sync replicas than needed the high watermark stands still; who waits for it hears so at once and
        tries again, rather than wait for a timeout.
        """
        if self.log is None:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if not self.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        in_sync = len(self.isr.maximal)
        if in_sync < self.min_insync_replicas and in_sync <= len(self.remote_replicas):
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return ErrorCode.NONE if self.log.high_watermark >= required_offset else None

    def fetch_end_offset(self, isolation: FetchIsolation, current_leader_epoch: int, *, only_leader: bool) -> int:
        """Up to where a fetcher may read."""
        log = self.require_log(current_leader_epoch, only_leader=only_leader)
        if isolation is FetchIsolation.LOG_END:
            return log.log_end_offset
        return log.high_watermark if isolation is FetchIsolation.HIGH_WATERMARK else log.last_stable_offset

    def end_offset_for_epoch(
        self, requested_epoch: int, current_leader_epoch: int = NO_EPOCH, *, only_leader: bool = True
    ) -> EpochEndOffset:
        """The answer to OffsetForLeaderEpoch."""
        log = self.require_log(current_leader_epoch, only_leader=only_leader)
        return log.leader_epochs.end_offset_for(requested_epoch, log.log_end_offset)

    def diverging_epoch(
        self, current_leader_epoch: int, last_fetched_epoch: int, fetch_offset: int
    ) -> EpochEndOffset | None:
        """Where a fetcher's history parts from this log, if it does: it truncates to there (KIP-595)."""
        end = self.end_offset_for_epoch(last_fetched_epoch, current_leader_epoch, only_leader=False)
        if end == UNDEFINED_EPOCH_END_OFFSET:
            raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE, f"{self.name} knows nothing of epoch {last_fetched_epoch}")
        log_start_offset = self.require_log(only_leader=False).log_start_offset
        if fetch_offset < log_start_offset:
            raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE, f"{self.name} starts at {log_start_offset}")
        return end if end.epoch < last_fetched_epoch or end.end_offset < fetch_offset else None

    # -- high watermark

    def advance_high_watermark(self, now_ms: float) -> bool:
        """After an append, or whenever a replica or the ISR has moved: whether the high watermark of the leader did."""
        log = self.log
        if log is None or not self.is_leader or self.is_under_min_isr:
            return False
        end_offset = lowest = log.log_end_offset
        for broker_id, replica in self.remote_replicas.items():
            if replica.log_end_offset < lowest and (
                broker_id in self.isr.maximal
                or (
                    replica.is_caught_up(end_offset, now_ms, self.replica_lag_time_max_ms) and self._is_alive(broker_id)
                )
            ):
                lowest = replica.log_end_offset
        return log.advance_high_watermark(lowest)

    def note_follower_fetch(
        self,
        broker_id: int,
        fetch_offset: int,
        log_start_offset: int,
        now_ms: float,
        *,
        current_leader_epoch: int = NO_EPOCH,
        broker_epoch: int = UNKNOWN_BROKER_EPOCH,
    ) -> Moved:
        """A follower has read from an offset with success; to be called after the read, since it ends there."""
        log = self.require_log(current_leader_epoch)
        replica = self.remote_replicas.get(broker_id)
        if replica is None:
            code = (
                ErrorCode.NOT_LEADER_OR_FOLLOWER if current_leader_epoch == NO_EPOCH else ErrorCode.UNKNOWN_LEADER_EPOCH
            )
            raise ApiError(code, f"broker {broker_id} is not a replica of {self.name}: {self.replicas}")
        replica.check_broker_epoch(broker_epoch)
        before = replica.log_end_offset, replica.log_start_offset
        replica.note_fetch(fetch_offset, log_start_offset, log.log_end_offset, now_ms, broker_epoch)
        proposal = self._propose_to_expand(replica, log)
        high_watermark_moved = before[0] != fetch_offset and self.advance_high_watermark(now_ms)
        return Moved(high_watermark_moved, log_start_offset > before[1], proposal)

    def follow_high_watermark(self, leader_high_watermark: int) -> bool:
        """A follower takes over its leader's, as far as its own log goes."""
        log = self.require_log(only_leader=False)
        assert not self.is_leader, "a leader's high watermark is its own"
        return log.advance_high_watermark(leader_high_watermark)

    # -- in-sync replicas

    def _propose_to_expand(self, replica: RemoteReplica, log: LogT) -> IsrProposal | None:
        """A follower joins when it has all that is committed and all from before this leader's time."""
        isr = self.isr
        if isr.proposal is not None or replica.broker_id in isr.maximal:
            return None
        assert self.leader_epoch_start_offset is not None, "a leader knows where its epoch began"
        end_offset = replica.log_end_offset
        if end_offset < log.high_watermark or end_offset < self.leader_epoch_start_offset:
            return None
        if not self._is_alive(replica.broker_id):
            return None
        return isr.propose(IsrProposal((*isr.committed, replica.broker_id), self.leader_epoch, self.partition_epoch))

    def propose_to_shrink(self, now_ms: float) -> IsrProposal | None:
        """Asked every `replica.lag.time.max.ms` / 2: without those that have not caught up for longer than that."""
        isr, log = self.isr, self.log
        if log is None or not self.is_leader or isr.proposal is not None:
            return None
        remaining = tuple(broker_id for broker_id in isr.committed if self._keeps_up(broker_id, log, now_ms))
        if len(remaining) == len(isr.committed):
            return None
        return isr.propose(IsrProposal(remaining, self.leader_epoch, self.partition_epoch))

    def propose_to_rejoin(self, now_ms: float) -> IsrProposal | None:
        """With a follower that has everything, and of which nothing new will be heard as long as nothing is appended.

        It was to leave when it had caught up again, or could not join when it fetched: its broker was not known to be
        alive then. A fetch that has nothing to tell does not come by here, and below `min.insync.replicas` no append
        would ever make it. What it has is known from before, so its broker's epoch goes along: if it has been started
        again since, the controller refuses (KIP-903).
        """
        log = self.log
        if log is None or not self.is_leader:
            return None
        for broker_id, replica in self.remote_replicas.items():
            is_out = broker_id not in self.isr.maximal and replica.broker_epoch != UNKNOWN_BROKER_EPOCH
            if is_out and self._keeps_up(broker_id, log, now_ms):
                proposal = self._propose_to_expand(replica, log)
                if proposal is not None:
                    return proposal
        return None

    def _keeps_up(self, broker_id: int, log: LogT, now_ms: float) -> bool:
        if broker_id == self.broker_id:
            return True
        replica = self.remote_replicas.get(broker_id)
        return replica is not None and replica.is_caught_up(log.log_end_offset, now_ms, self.replica_lag_time_max_ms)

    def on_isr_accepted(
        self, proposal: IsrProposal, leader_epoch: int, isr: tuple[int, ...], partition_epoch: int, now_ms: float
    ) -> Moved:
        """The controller's answer to a proposal: what holds now, whether or not it is what was proposed."""
        is_current = proposal is self.isr.proposal and leader_epoch == self.leader_epoch
        if not is_current or partition_epoch < self.partition_epoch:
            return Moved()
        self.isr.commit(isr)
        self.partition_epoch = partition_epoch
        return Moved(high_watermark=self.advance_high_watermark(now_ms))

    def on_isr_refused(self, proposal: IsrProposal, error: ErrorCode) -> IsrProposal | None:
        """What to send again, if anything."""
        if proposal is not self.isr.proposal:
            return None
        after = AFTER_ERROR.get(error, AfterError.RETRY)
        if after is AfterError.WITHDRAW:
            self.isr.withdraw()
        return proposal if after is AfterError.RETRY else None

    # -- low watermark

    def low_watermark(self) -> int:
        """What no live replica has any more is below it; DeleteRecords waits for that."""
        low_watermark = self.require_log().log_start_offset
        for broker_id, replica in self.remote_replicas.items():
            if replica.log_start_offset < low_watermark and self._is_alive(broker_id):
                low_watermark = replica.log_start_offset
        return low_watermark

    def offset_to_delete_to(self, requested_offset: int) -> int:
        """Which log start offset a DeleteRecords asks for; -1 stands for the high watermark."""
        high_watermark = self.require_log().high_watermark
        offset = high_watermark if requested_offset == DELETE_TO_HIGH_WATERMARK else requested_offset
        if not 0 <= offset <= high_watermark:
            message = f"{self.name} can be deleted up to its high watermark {high_watermark}, not to {offset}"
            raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE, message)
        return offset

    # -- how it is doing, as its leader sees it

    @property
    def effective_min_isr(self) -> int:
        """No more than there are replicas."""
        return min(self.min_insync_replicas, len(self.remote_replicas) + 1)

    @property
    def is_under_replicated(self) -> bool:
        """Replicas that a reassignment is adding are not missed yet (A19, as Kafka since 2.5)."""
        return self.is_leader and len(self.isr.committed) < len(set(self.replicas).difference(self.adding_replicas))

    @property
    def is_under_min_isr(self) -> bool:
        """Whether there are fewer in-sync replicas than needed, of those that there are."""
        in_sync = len(self.isr.committed)
        return in_sync < self.min_insync_replicas and in_sync <= len(self.remote_replicas) and self.is_leader

    @property
    def is_at_min_isr(self) -> bool:
        return self.is_leader and len(self.isr.committed) == self.effective_min_isr
