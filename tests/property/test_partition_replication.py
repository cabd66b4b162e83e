"""Three replicas of a partition under any order of events: what is acknowledged stays, high watermarks tell the truth.

Brokers hear of the controller's decisions late, leaders that are none any more go on, answers to proposals get lost,
brokers die and come back. A record is known by its offset and its leader epoch: nobody writes the same twice.
"""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.replication.in_sync_replicas import IsrProposal
from moldau.replication.partition import Partition
from moldau.replication.partition_state import LeaderAndIsr
from tests.unit.replication.memory_log import LAG_MS, MemoryLog, partition

BROKERS = (1, 2, 3)
FENCED = {ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER}
EVENTS_MAX = 150
# Frequent enough for histories to get somewhere: appends and fetches far outnumber what goes wrong.
WEIGHTS = {
    "append": 4,
    "fetch": 10,
    "hear": 3,
    "shrink": 2,
    "answer": 4,
    "wait": 2,
    "die": 1,
    "return": 2,
    "elect": 1,
}


class Cluster:
    def __init__(self, min_isr: int) -> None:
        self.min_isr = min_isr
        self.now_ms = 0
        self.dead: set[int] = set()
        self.state = LeaderAndIsr(1, 0, BROKERS, 0, BROKERS)
        self.logs = {broker: MemoryLog() for broker in BROKERS}
        self.partitions: dict[int, Partition[MemoryLog]] = {}
        self.proposals: dict[int, IsrProposal] = {}
        self.unanswered: list[tuple[int, int, int]] = []  # broker, offset, epoch
        self.acknowledged: set[tuple[int, int]] = set()
        self.high_watermarks: dict[tuple[int, int], int] = {}
        for broker in BROKERS:
            self.start(broker)

    def start(self, broker: int) -> None:
        log = self.logs[broker]
        self.partitions[broker] = partition(log, broker_id=broker, min_isr=self.min_isr, dead=self.dead)
        self.proposals.pop(broker, None)
        self.hear(broker)

    # -- the controller

    def decide(self, leader: int, isr: tuple[int, ...], *, is_new_epoch: bool) -> None:
        old = self.state
        self.state = LeaderAndIsr(leader, old.leader_epoch + is_new_epoch, isr, old.partition_epoch + 1, BROKERS)

    def die(self, broker: int) -> None:
        survivors = tuple(one for one in self.state.isr if one != broker)
        if broker in self.dead or not survivors:
            return
        self.dead.add(broker)
        self.unanswered = [waiting for waiting in self.unanswered if waiting[0] != broker]
        leader = survivors[0] if broker == self.state.leader else self.state.leader
        self.decide(leader, survivors, is_new_epoch=True)

    def answer(self, broker: int, what: int) -> None:
        """0: the proposal did not come through; 1: it did and the answer got lost; else both came through."""
        proposal = self.proposals.get(broker)
        if proposal is None or broker in self.dead or what == 0:
            return
        replica = self.partitions[broker]
        error = ErrorCode.NONE
        if proposal.leader_epoch != self.state.leader_epoch:
            error = ErrorCode.FENCED_LEADER_EPOCH
        elif proposal.partition_epoch != self.state.partition_epoch:
            error = ErrorCode.INVALID_UPDATE_VERSION
        elif self.dead.intersection(proposal.isr):
            error = ErrorCode.INELIGIBLE_REPLICA
        else:
            self.decide(broker, proposal.isr, is_new_epoch=False)
        if what == 1:
            return
        del self.proposals[broker]
        if error:
            assert replica.on_isr_refused(proposal, error) is None
        else:
            epoch, isr, version = self.state.leader_epoch, self.state.isr, self.state.partition_epoch
            replica.on_isr_accepted(proposal, epoch, isr, version, self.now_ms)

    # -- the brokers

    def hear(self, broker: int) -> None:
        if self.state.leader == broker:
            self.partitions[broker].become_leader(self.state, self.now_ms)
        else:
            self.partitions[broker].become_follower(self.state)

    def append(self, broker: int, records: int) -> None:
        replica, log = self.partitions[broker], self.logs[broker]
        if replica.is_leader and not replica.is_under_min_isr:
            first_offset = log.log_end_offset
            log.append(replica.leader_epoch, records)
            self.unanswered += [(broker, first_offset + one, replica.leader_epoch) for one in range(records)]
            replica.advance_high_watermark(self.now_ms)

    def fetch(self, broker: int, records_max: int) -> None:
        follower, log = self.partitions[broker], self.logs[broker]
        if follower.is_leader or follower.leader in self.dead:
            return
        leader, epoch, offset = self.partitions[follower.leader], follower.leader_epoch, log.log_end_offset
        try:
            leader.require_log(epoch)
            # The latest epoch of the log, not that of its last record: a leader's epoch may have begun without one.
            latest = log.leader_epochs.latest_epoch
            diverging = None if latest is None else leader.diverging_epoch(epoch, latest, offset)
        except ApiError as error:
            if error.code not in FENCED:
                raise
            return
        if diverging:
            own_end = log.leader_epochs.end_offset_for(diverging.epoch, offset).end_offset
            self.truncate(log, min(diverging.end_offset, own_end) if own_end >= 0 else diverging.end_offset)
            return
        copied = self.logs[leader.broker_id].epochs[offset : offset + records_max]
        moved = leader.note_follower_fetch(broker, offset, 0, self.now_ms, current_leader_epoch=epoch)
        if moved.proposal is not None:
            self.proposals[leader.broker_id] = moved.proposal
        for record_epoch in copied:
            log.append(record_epoch)
        follower.follow_high_watermark(self.logs[leader.broker_id].high_watermark)

    def truncate(self, log: MemoryLog, end_offset: int) -> None:
        assert end_offset >= log.high_watermark, "what is committed is not cut off"
        del log.epochs[end_offset:]
        log.leader_epochs.truncate_from_end(end_offset)

    def shrink(self, broker: int) -> None:
        proposal = self.partitions[broker].propose_to_shrink(self.now_ms)
        if proposal is not None:
            self.proposals[broker] = proposal

    def happen(self, event: str, broker: int, number: int) -> None:
        if event == "die":
            self.die(broker)
        elif event == "wait":
            self.now_ms += number
        elif event == "answer":
            self.answer(broker, number)
        elif event == "elect":
            if broker in self.state.isr:
                self.decide(broker, self.state.isr, is_new_epoch=True)
        elif broker in self.dead:
            if event == "return":
                self.dead.remove(broker)
                self.start(broker)
        elif event == "append":
            self.append(broker, number)
        elif event == "fetch":
            self.fetch(broker, number)
        elif event == "hear":
            self.hear(broker)
        elif event == "shrink":
            self.shrink(broker)

    # -- what must hold

    def acknowledge(self) -> None:
        waiting, self.unanswered = self.unanswered, []
        for broker, offset, epoch in waiting:
            replica = self.partitions[broker]
            outcome = (
                replica.replicated_to(offset + 1) if replica.leader_epoch == epoch else ErrorCode.UNKNOWN_SERVER_ERROR
            )
            if outcome is None:
                self.unanswered.append((broker, offset, epoch))
            elif outcome is ErrorCode.NONE:
                copies = sum(log.epochs[offset : offset + 1] == [epoch] for log in self.logs.values())
                assert copies >= self.min_isr
                self.acknowledged.add((offset, epoch))

    def check(self) -> None:
        self.acknowledge()
        leader_log = self.logs[self.state.leader]
        for offset, epoch in self.acknowledged:
            assert leader_log.epochs[offset : offset + 1] == [epoch], "an acknowledged record is lost"
        for broker in set(BROKERS) - self.dead:
            replica, log = self.partitions[broker], self.logs[broker]
            if replica.is_leader:
                key = broker, replica.leader_epoch
                assert log.high_watermark >= self.high_watermarks.get(key, 0), "the high watermark moved back"
                self.high_watermarks[key] = log.high_watermark
            if broker == self.state.leader and replica.leader_epoch == self.state.leader_epoch:
                assert set(self.state.isr) <= replica.isr.maximal
                assert all(log.high_watermark <= self.logs[member].log_end_offset for member in self.state.isr)


def numbers(event: str) -> tuple[int, ...]:
    return {"append": (1, 2, 3), "fetch": (0, 1, 2, 4), "answer": (0, 1, 2, 3), "wait": (1, 3_000, LAG_MS)}.get(
        event, (0,)
    )


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_what_is_acknowledged_stays(seed: int, min_isr: int) -> None:
    random = Random(seed)
    cluster = Cluster(min_isr)
    for event in random.choices(list(WEIGHTS), list(WEIGHTS.values()), k=EVENTS_MAX):
        cluster.happen(event, random.choice(BROKERS), random.choice(numbers(event)))
        cluster.check()
