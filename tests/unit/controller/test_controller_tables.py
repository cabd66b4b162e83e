"""The pure parts: state tables, selection of leaders, assignments on their way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.controller.assignment import ReplicaAssignment
from moldau.controller.leader_selection import Candidates, Reason, Selection, needs_unclean, select
from moldau.controller.leadership import Leadership
from moldau.controller.partition_states import PREVIOUS_PARTITION_STATES, PartitionState
from moldau.controller.replica_states import PREVIOUS_REPLICA_STATES, ReplicaState

R, P = ReplicaState, PartitionState

REPLICA_ROWS = {
    R.NEW: {R.NON_EXISTENT},
    R.ONLINE: {R.NEW, R.ONLINE, R.OFFLINE, R.DELETION_INELIGIBLE},
    R.OFFLINE: {R.NEW, R.ONLINE, R.OFFLINE, R.DELETION_INELIGIBLE},
    R.DELETION_STARTED: {R.OFFLINE},
    R.DELETION_SUCCESSFUL: {R.DELETION_STARTED},
    R.DELETION_INELIGIBLE: {R.OFFLINE, R.DELETION_STARTED},
    R.NON_EXISTENT: {R.DELETION_SUCCESSFUL},
}
PARTITION_ROWS = {
    P.NEW: {P.NON_EXISTENT},
    P.ONLINE: {P.NEW, P.ONLINE, P.OFFLINE},
    P.OFFLINE: {P.NEW, P.ONLINE, P.OFFLINE},
    P.NON_EXISTENT: {P.OFFLINE},
}


@pytest.mark.parametrize("target", list(ReplicaState))
@pytest.mark.parametrize("previous", list(ReplicaState))
def test_replica_states_can_be_entered_as_in_kafka(target: ReplicaState, previous: ReplicaState) -> None:
    assert (previous in PREVIOUS_REPLICA_STATES[target]) is (previous in REPLICA_ROWS[target])


@pytest.mark.parametrize("target", list(PartitionState))
@pytest.mark.parametrize("previous", list(PartitionState))
def test_partition_states_can_be_entered_as_in_kafka(target: PartitionState, previous: PartitionState) -> None:
    assert (previous in PREVIOUS_PARTITION_STATES[target]) is (previous in PARTITION_ROWS[target])


# -- leaders


def candidates(
    online: tuple[int, ...],
    isr: tuple[int, ...],
    *,
    leader: int = 1,
    replicas: tuple[int, ...] = (1, 2, 3),
    removing: tuple[int, ...] = (),
    shutting_down: tuple[int, ...] = (),
) -> Candidates:
    assignment = ReplicaAssignment(replicas, (), removing)
    return Candidates(assignment, Leadership(leader, 5, isr, 7, 1), online, shutting_down)


def chosen(selection: Selection | None) -> tuple[int, tuple[int, ...], tuple[int, ...]] | None:
    if selection is None:
        return None
    assert selection.leadership.leader_epoch == 6
    return selection.leadership.leader, selection.leadership.isr, selection.recipients


def test_a_lost_leader_is_replaced_by_the_first_assigned_replica_that_is_in_sync_and_online() -> None:
    # The order of the ISR means nothing (C4): 3 is before 2 there, but not among the replicas.
    assert chosen(select(Reason.OFFLINE, candidates((2, 3), (3, 2, 1)))) == (2, (3, 2), (2, 3))
    assert chosen(select(Reason.OFFLINE, candidates((2, 3), (1, 3)))) == (3, (3,), (2, 3))


def test_without_an_in_sync_replica_nobody_leads_unless_unclean_is_allowed() -> None:
    asked = candidates((3,), (1, 2))
    assert needs_unclean(asked)
    assert select(Reason.OFFLINE, asked) is None
    selection = select(Reason.OFFLINE, asked, unclean=True)
    assert chosen(selection) == (3, (3,), (3,))
    assert selection is not None
    assert selection.leadership.is_recovering


def test_unclean_prefers_a_clean_leader_and_gives_up_when_nobody_lives() -> None:
    selection = select(Reason.UNCLEAN, candidates((1, 2, 3), (2,)), unclean=True)
    assert chosen(selection) == (2, (2,), (1, 2, 3))
    assert selection is not None
    assert not selection.leadership.is_recovering
    assert select(Reason.UNCLEAN, candidates((), (1,)), unclean=True) is None


def test_a_reassignment_elects_within_its_target_only() -> None:
    moving = candidates((1, 2, 3), (1, 2, 3), replicas=(2, 3, 1), removing=(1,))
    assert chosen(select(Reason.REASSIGNMENT, moving)) == (2, (1, 2, 3), (2, 3))
    not_in_sync = candidates((1, 2, 3), (1,), replicas=(2, 3, 1), removing=(1,))
    assert select(Reason.REASSIGNMENT, not_in_sync) is None


def test_the_preferred_leader_must_be_online_and_in_sync() -> None:
    assert chosen(select(Reason.PREFERRED, candidates((1, 2, 3), (2, 1), leader=2))) == (1, (2, 1), (1, 2, 3))
    assert select(Reason.PREFERRED, candidates((2, 3), (2, 1), leader=2)) is None
    assert select(Reason.PREFERRED, candidates((1, 2, 3), (2, 3), leader=2)) is None


def test_at_a_controlled_shutdown_the_broker_leaves_the_isr_and_is_told() -> None:
    asked = candidates((2, 3), (1, 2), shutting_down=(1,))
    assert chosen(select(Reason.CONTROLLED_SHUTDOWN, asked)) == (2, (2,), (1, 2, 3))
    assert select(Reason.CONTROLLED_SHUTDOWN, candidates((3,), (1, 2), shutting_down=(1,))) is None


subsets = st.lists(st.sampled_from([1, 2, 3, 4]), unique=True).map(tuple)


@given(replicas=subsets.filter(bool), isr=subsets.filter(bool), online=subsets, reason=st.sampled_from(list(Reason)))
def test_whoever_is_selected_is_online_and_in_sync_or_was_elected_uncleanly(
    replicas: tuple[int, ...], isr: tuple[int, ...], online: tuple[int, ...], reason: Reason
) -> None:
    asked = candidates(online, isr, replicas=replicas)
    unclean = reason is Reason.UNCLEAN
    selection = select(reason, asked, unclean=unclean)
    if selection is None:
        return
    new = selection.leadership
    assert new.leader in online
    assert new.leader in replicas
    assert new.leader in new.isr
    assert new.leader in isr or (unclean and new.isr == (new.leader,) and new.is_recovering)
    assert new.leader_epoch == asked.leadership.leader_epoch + 1


# -- assignments


def test_a_reassignment_keeps_both_sets_until_it_is_done() -> None:
    moving = ReplicaAssignment((2,)).reassign_to((0, 1))
    assert moving == ReplicaAssignment((0, 1, 2), adding=(0, 1), removing=(2,))
    assert (moving.origin, moving.target) == ((2,), (0, 1))
    assert moving.is_being_reassigned


def test_another_target_starts_from_where_the_replicas_were_before_and_cancelling_goes_back_there() -> None:
    moving = ReplicaAssignment((1, 2)).reassign_to((3, 4))
    other = moving.reassign_to((2, 5))
    assert other == ReplicaAssignment((2, 5, 1), adding=(5,), removing=(1,))
    assert moving.reassign_to(moving.origin) == ReplicaAssignment((1, 2))


@given(st.lists(subsets.filter(bool), min_size=2, max_size=6))
def test_any_chain_of_targets_can_be_cancelled_and_finished(chain: list[tuple[int, ...]]) -> None:
    origin, *targets = chain
    assignment = ReplicaAssignment(origin)
    for target in targets:
        assignment = assignment.reassign_to(target)
        assert assignment.target == target
        assert set(assignment.origin) == set(origin)
        assert not set(assignment.adding) & set(origin)
        assert set(assignment.replicas) == set(origin) | set(target)
    back = assignment.reassign_to(assignment.origin)
    assert not back.is_being_reassigned
    assert set(back.replicas) == set(origin)


def test_the_last_in_sync_replica_is_remembered_when_it_leaves() -> None:
    state = Leadership(1, 5, (1, 2), 7, 1)
    alone = state.without_replica(1)
    assert (alone.leader, alone.isr, alone.leader_epoch) == (-1, (2,), 6)
    nobody = alone.without_replica(2)
    assert (nobody.leader, nobody.isr, nobody.leader_epoch) == (-1, (2,), 7)
