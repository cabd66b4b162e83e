"""Each invariant catches a rule that is broken on purpose: a simulation that finds nothing would prove nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.cluster.errors import MultiFailed
from moldau.cluster.store import CoordinationSession, Create, CreateMode
from moldau.cluster.znodes.controller import ControllerRegistration
from moldau.cluster.znodes.layout import CONTROLLER
from moldau.controller import candidate, isr_changes, leader_selection
from moldau.controller.election import Claim, _read_epoch
from moldau.controller.leader_selection import Candidates, Selection
from moldau.coordinator.group.offset_store import OffsetStore
from moldau.coordinator.group.shard import GroupShard
from moldau.replication import reading
from moldau.replication.isr_updates import IsrUpdates
from moldau.replication.partition import Partition
from moldau.replication.partition_state import LeaderAndIsr
from moldau.storage.log import Log
from moldau.storage.producer_state import ProducerState
from tests.sim.cluster.cluster_run import run_seed
from tests.sim.cluster.invariants import Violated

SEEDS_MAX = 30

pytestmark = pytest.mark.slow


def caught(settings: dict[str, str] | None = None, first: int = 0) -> str:
    """The name of the first invariant that is violated, within a few seeds from the first."""
    for seed in range(first, first + SEEDS_MAX):
        try:
            run_seed(seed, settings)
        except Violated as violated:
            return violated.name
    pytest.fail(f"{SEEDS_MAX} seeds have not noticed")


def replace(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, value: Callable[..., Any]) -> Any:
    before = getattr(owner, name)
    monkeypatch.setattr(owner, name, value)
    return before


def test_a_follower_that_takes_itself_for_the_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    def lead_anyway(self: Partition[Log], state: LeaderAndIsr) -> bool:
        self.become_leader(state._replace(leader=self.broker_id), 0)
        return False

    replace(monkeypatch, Partition, "become_follower", lead_anyway)
    assert caught() == "single_leader"


def test_a_controller_without_an_epoch_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    async def claim(session: CoordinationSession, broker_id: int, now_ms: int, *, again: bool) -> Claim | None:
        epoch, version = await _read_epoch(session)
        try:
            data = ControllerRegistration(broker_id, now_ms).encode()
            await session.multi([] if again else [Create(CONTROLLER, data, CreateMode.EPHEMERAL)])
        except MultiFailed:
            return None
        return Claim(epoch, version)

    replace(monkeypatch, candidate, "claim", claim)
    assert caught() == "single_controller"


def test_a_high_watermark_that_waits_for_one_follower_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def advance(self: Partition[Log], _now_ms: float) -> bool:
        if self.log is None or not self.is_leader:
            return False
        ends = sorted(replica.log_end_offset for replica in self.remote_replicas.values())
        return self.log.advance_high_watermark(ends[-1] if ends else self.log.log_end_offset)

    replace(monkeypatch, Partition, "advance_high_watermark", advance)
    assert caught() == "watermark_replicated"


def test_an_acknowledgement_before_replication(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_once(self: Partition[Log], _required_offset: int) -> ErrorCode:
        return ErrorCode.NONE if self.is_leader else ErrorCode.NOT_LEADER_OR_FOLLOWER

    replace(monkeypatch, Partition, "replicated_to", at_once)
    assert caught() == "acknowledged_is_committed"


def test_followers_that_cut_to_their_high_watermark() -> None:
    """As before 0.11, which lost records and let logs differ (KIP-101)."""
    assert caught({"inter.broker.protocol.version": "0.10.2"}) in ("committed_kept", "logs_identical")


def test_a_leader_that_says_nothing_of_diverging_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    replace(monkeypatch, Partition, "diverging_epoch", lambda *_arguments: None)
    assert caught() == "logs_identical"


def test_an_isr_that_is_accepted_whatever_its_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    def accept(term: Any, partition: Any, _leader: int, data: Any, _version: int) -> Any:
        isr = tuple(each.broker_id for each in data.new_isr_with_epochs)
        return term.context.leadership[partition]._replace(isr=isr)

    replace(monkeypatch, isr_changes, "_decide", accept)
    replace(monkeypatch, isr_changes, "check_broker_epoch", lambda *_arguments: None)
    assert caught(first=25) in ("isr_in_store", "committed_kept")  # no seed before that notices


def test_elections_of_whoever_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    def select(candidates: Candidates, *, unclean: bool) -> Selection | None:
        out_of_sync = [each for each in candidates.online if each not in candidates.leadership.isr]
        if not out_of_sync or unclean:
            return before(candidates, unclean=unclean)  # type: ignore[no-any-return]
        leadership = candidates.leadership.next(out_of_sync[0], (out_of_sync[0],))
        return Selection(leadership, candidates.assignment.replicas)

    before = replace(monkeypatch, leader_selection, "select_when_offline", select)
    assert caught() == "isr_in_store"


def test_a_handler_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object) -> None:
        raise ZeroDivisionError

    replace(monkeypatch, Partition, "propose_to_rejoin", fail)
    assert caught() == "no_failure"


def test_leaders_that_forget_what_producers_have_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    def start_epoch(self: Log, epoch: int, start_offset: int) -> None:
        self.producer_state = ProducerState(str(self.place))
        before(self, epoch, start_offset)

    before = replace(monkeypatch, Log, "start_epoch", start_epoch)
    assert caught() in ("no_duplicate", "order", "clients_told", "transactions_atomic")


def test_readers_that_are_not_told_of_aborted_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    replace(monkeypatch, reading, "aborted_transactions", lambda *_arguments: [])
    assert caught() == "transactions_atomic"


def test_a_coordinator_that_loads_no_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    def loaded(self: GroupShard) -> None:
        OffsetStore.__init__(self.offsets)
        before(self)

    before = replace(monkeypatch, GroupShard, "loaded", loaded)
    assert caught() in ("clients_told", "offsets_kept")


def test_leaders_that_never_ask_for_another_isr(monkeypatch: pytest.MonkeyPatch) -> None:
    replace(monkeypatch, IsrUpdates, "propose", lambda *_arguments: None)
    assert caught() == "heals"
