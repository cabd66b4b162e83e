"""Who is in sync: the lag rule (A17), and proposals that the controller accepts, refuses or leaves open (KIP-497)."""

from __future__ import annotations

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.replication.in_sync_replicas import IsrProposal
from moldau.replication.partition import Partition
from tests.unit.replication.memory_log import LAG_MS, MemoryLog, led_by, partition


def lead(
    isr: tuple[int, ...], records: int = 0, dead: set[int] | None = None
) -> tuple[Partition[MemoryLog], MemoryLog]:
    log = MemoryLog(records)
    leader = partition(log, dead=dead)
    leader.become_leader(led_by(1, isr), 0)
    return leader, log


def shrunk(leader: Partition[MemoryLog], now_ms: int) -> tuple[int, ...] | None:
    proposal = leader.propose_to_shrink(now_ms)
    return proposal and proposal.isr


def test_a_follower_is_out_when_it_has_not_caught_up_for_longer_than_the_limit() -> None:
    leader, log = lead((1, 2))
    log.append(0)
    assert shrunk(leader, LAG_MS) is None
    assert shrunk(leader, LAG_MS + 1) == (1,)


def test_a_follower_at_the_end_is_in_sync_however_long_it_is_silent() -> None:
    leader, _ = lead((1, 2))
    leader.note_follower_fetch(2, 0, 0, 0)
    assert shrunk(leader, 100 * LAG_MS) is None


def test_a_follower_that_reads_what_there_was_at_its_last_fetch_keeps_up() -> None:
    leader, log = lead((1, 2))
    for step in range(1, 10):
        log.append(0, records=10)
        leader.note_follower_fetch(2, 10 * (step - 1), 0, step * (LAG_MS - 1))
        assert shrunk(leader, step * (LAG_MS - 1)) is None
    assert leader.remote_replicas[2].caught_up_ms == 8 * (LAG_MS - 1)


def test_a_follower_that_fetches_too_slowly_is_out() -> None:
    leader, log = lead((1, 2))
    log.append(0, records=100)
    for step in range(1, 5):
        leader.note_follower_fetch(2, step, 0, step * LAG_MS // 2)
    assert shrunk(leader, 2 * LAG_MS) == (1,)


def test_a_follower_joins_when_it_has_all_that_is_committed() -> None:
    leader, log = lead((1, 3))
    log.append(0, records=5)
    leader.note_follower_fetch(3, 4, 0, 1)
    assert log.high_watermark == 4
    assert leader.note_follower_fetch(2, 3, 0, 1).proposal is None
    assert leader.note_follower_fetch(2, 4, 0, 1).proposal == IsrProposal((1, 3, 2), 0, 0)
    assert leader.isr.maximal == {1, 2, 3}
    assert leader.isr.committed == (1, 3)


def test_a_follower_joins_only_with_all_from_before_the_leaders_time() -> None:
    leader, log = lead((1, 3), records=5)
    assert log.high_watermark == 0
    assert leader.note_follower_fetch(2, 4, 0, 1).proposal is None
    assert leader.note_follower_fetch(2, 5, 0, 1).proposal is not None


def test_a_dead_broker_does_not_join() -> None:
    dead = {2}
    leader, _ = lead((1,), dead=dead)
    assert leader.note_follower_fetch(2, 0, 0, 1).proposal is None
    dead.clear()
    assert leader.note_follower_fetch(2, 0, 0, 1).proposal is not None


def test_who_is_to_join_counts_at_once() -> None:
    leader, log = lead((1,), records=5)
    assert leader.note_follower_fetch(2, 5, 0, 0).proposal is not None
    log.append(0)
    assert not leader.advance_high_watermark(100 * LAG_MS)
    leader.note_follower_fetch(2, 6, 0, 100 * LAG_MS)
    assert log.high_watermark == 6


def test_the_high_watermark_waits_for_who_keeps_up_and_will_join() -> None:
    dead: set[int] = set()
    leader, log = lead((1,), dead=dead)
    proposal = leader.note_follower_fetch(3, 0, 0, 0).proposal
    assert proposal is not None
    assert leader.note_follower_fetch(2, 0, 0, 0).proposal is None, "one proposal at a time"
    log.append(0)
    leader.on_isr_accepted(proposal, 0, (1,), 1, 0)
    assert not leader.advance_high_watermark(LAG_MS), "2 and 3 were at the end, and may soon be in sync"
    dead |= {2, 3}
    assert leader.advance_high_watermark(LAG_MS)


def test_one_proposal_at_a_time() -> None:
    leader, log = lead((1, 2, 3))
    log.append(0)
    leader.note_follower_fetch(2, 1, 0, 1)
    proposal = leader.propose_to_shrink(LAG_MS + 2)
    assert proposal is not None
    assert proposal.isr == (1, 2)
    assert leader.propose_to_shrink(LAG_MS + 2) is None
    assert leader.note_follower_fetch(3, 1, 0, LAG_MS + 3).proposal is None
    leader.on_isr_accepted(proposal, 0, (1, 2), 1, LAG_MS + 3)
    assert leader.note_follower_fetch(3, 1, 0, LAG_MS + 4).proposal == IsrProposal((1, 2, 3), 0, 1)


@pytest.mark.parametrize(
    ("error", "is_sent_again", "is_out"),
    [
        (ErrorCode.UNKNOWN_SERVER_ERROR, True, True),
        (ErrorCode.NOT_CONTROLLER, True, True),
        (ErrorCode.OPERATION_NOT_ATTEMPTED, False, False),
        (ErrorCode.INELIGIBLE_REPLICA, False, False),
        (ErrorCode.INVALID_UPDATE_VERSION, False, True),
        (ErrorCode.FENCED_LEADER_EPOCH, False, True),
    ],
)
def test_after_a_refusal(error: ErrorCode, is_sent_again: bool, is_out: bool) -> None:
    leader, _ = lead((1, 3))
    proposal = leader.note_follower_fetch(2, 0, 0, 1).proposal
    assert proposal is not None
    assert leader.on_isr_refused(proposal, error) is (proposal if is_sent_again else None)
    assert (leader.isr.proposal is proposal) == is_out
    assert (2 in leader.isr.maximal) == is_out


def test_answers_to_proposals_that_are_over_are_ignored() -> None:
    leader, _ = lead((1, 3))
    proposal = leader.note_follower_fetch(2, 0, 0, 1).proposal
    assert proposal is not None
    leader.become_leader(led_by(1, (1,), epoch=1, version=1), 2)
    leader.on_isr_accepted(proposal, 0, (1, 2, 3), 9, 3)
    assert leader.on_isr_refused(proposal, ErrorCode.UNKNOWN_SERVER_ERROR) is None
    assert (leader.isr.committed, leader.partition_epoch) == ((1,), 1)


def test_a_repeated_word_of_the_controller_leaves_the_proposal_out() -> None:
    leader, _ = lead((1, 3))
    proposal = leader.note_follower_fetch(2, 0, 0, 1).proposal
    leader.become_leader(led_by(1, (1, 3)), 2)
    assert leader.isr.proposal is proposal
    assert leader.isr.maximal == {1, 2, 3}


def test_strangers_and_ghosts_do_not_count() -> None:
    leader, _ = lead((1, 2))
    for epoch, code in ((-1, ErrorCode.NOT_LEADER_OR_FOLLOWER), (0, ErrorCode.UNKNOWN_LEADER_EPOCH)):
        with pytest.raises(ApiError) as error:
            leader.note_follower_fetch(9, 0, 0, 1, current_leader_epoch=epoch)
        assert error.value.code is code
    leader.note_follower_fetch(2, 0, 0, 1, broker_epoch=7)
    with pytest.raises(ApiError) as error:
        leader.note_follower_fetch(2, 0, 0, 2, broker_epoch=6)
    assert error.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    leader.note_follower_fetch(2, 0, 0, 3)


def test_in_a_new_epoch_of_the_same_leader_positions_are_kept_and_lag_begins_anew() -> None:
    leader, log = lead((1, 2), records=3)
    leader.note_follower_fetch(2, 2, 0, 1)
    leader.become_leader(led_by(1, (1, 2), epoch=1, version=1), 5 * LAG_MS)
    assert leader.remote_replicas[2].log_end_offset == 2
    assert leader.remote_replicas[3].log_end_offset == -1
    assert shrunk(leader, 6 * LAG_MS) is None
    assert log.high_watermark == 2


def test_a_removed_replica_is_forgotten() -> None:
    leader, _ = lead((1, 2, 3))
    leader.note_follower_fetch(3, 0, 0, 1)
    leader.become_leader(led_by(1, (1, 2), epoch=1, version=1, replicas=(1, 2)), 2)
    assert list(leader.remote_replicas) == [2]
    leader.become_leader(led_by(1, (1, 2), epoch=2, version=2), 3)
    assert leader.remote_replicas[3].log_end_offset == -1


def test_who_caught_up_while_it_was_being_left_out_is_wanted_back_though_nothing_is_appended() -> None:
    leader, log = lead((1, 2))
    log.append(0)
    proposal = leader.propose_to_shrink(LAG_MS + 1)
    assert proposal is not None
    leader.note_follower_fetch(2, 1, 0, LAG_MS + 2, broker_epoch=7)
    leader.on_isr_accepted(proposal, 0, (1,), 1, LAG_MS + 3)
    again = leader.propose_to_rejoin(100 * LAG_MS)
    assert again is not None
    assert again.isr == (1, 2)
    assert leader.propose_to_rejoin(100 * LAG_MS) is None, "one proposal at a time"


def test_nobody_is_wanted_back_of_whom_it_is_not_known_in_which_life_it_fetched() -> None:
    leader, _ = lead((1,))
    assert leader.propose_to_rejoin(1) is None
    leader.note_follower_fetch(2, 0, 0, 1)
    leader.isr.withdraw()
    assert leader.propose_to_rejoin(2) is None


def test_who_is_behind_and_silent_is_not_wanted_back() -> None:
    leader, log = lead((1,))
    leader.note_follower_fetch(2, 0, 0, 1, broker_epoch=7)
    leader.isr.withdraw()
    log.append(0)
    assert leader.propose_to_rejoin(1 + LAG_MS + 1) is None
