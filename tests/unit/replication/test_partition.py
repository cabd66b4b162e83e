"""One partition as leader and follower: walk-throughs of the high watermark, fencing, who may read what."""

from __future__ import annotations

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.replication.partition import Partition
from moldau.replication.partition_state import LeaderAndIsr
from moldau.storage.leader_epochs import EpochEndOffset
from moldau.storage.log import Log
from tests.unit.replication.memory_log import LAG_MS, MemoryLog, led_by, partition


def a_log_is_a_partition_log(log: Log, to: Partition[Log]) -> None:
    """For the type checker alone."""
    to.log = log


def refusal(error: pytest.ExceptionInfo[ApiError]) -> ErrorCode:
    return error.value.code


def test_high_watermark_with_one_follower() -> None:
    """After produce: leader end 1, high watermark 0. First fetch: nothing moves. Second: 1 on both (X14)."""
    log, copy = MemoryLog(), MemoryLog()
    leader, follower = partition(log), partition(copy, broker_id=2)
    state = led_by(1, (1, 2), replicas=(1, 2))
    leader.become_leader(state, 0)
    assert follower.become_follower(state)
    log.append(0)
    assert not leader.advance_high_watermark(0)
    assert (log.log_end_offset, log.high_watermark) == (1, 0)

    assert not leader.note_follower_fetch(2, 0, 0, 1).high_watermark
    copy.append(0)
    assert not follower.follow_high_watermark(log.high_watermark)
    assert (copy.log_end_offset, log.high_watermark, copy.high_watermark) == (1, 0, 0)

    assert leader.note_follower_fetch(2, 1, 0, 2).high_watermark
    assert follower.follow_high_watermark(log.high_watermark)
    assert (leader.remote_replicas[2].log_end_offset, log.high_watermark, copy.high_watermark) == (1, 1, 1)


def test_high_watermark_with_a_follower_that_lags() -> None:
    """Leader end 5; the follower fetches 3 records, then from 3: high watermark 3; its own is min(7, 3) (B29)."""
    log, copy = MemoryLog(), MemoryLog()
    leader, follower = partition(log), partition(copy, broker_id=2)
    state = led_by(1, (1, 2), replicas=(1, 2))
    leader.become_leader(state, 0)
    follower.become_follower(state)
    log.append(0, records=5)
    leader.note_follower_fetch(2, 0, 0, 1)
    copy.append(0, records=3)
    assert (copy.log_end_offset, log.high_watermark) == (3, 0)
    log.append(0, records=2)
    leader.note_follower_fetch(2, 3, 0, 2)
    assert log.high_watermark == 3
    copy.append(0, records=4)
    follower.follow_high_watermark(3)
    assert (copy.log_end_offset, copy.high_watermark) == (7, 3)


def test_a_cluster_of_one_commits_with_the_append() -> None:
    log = MemoryLog()
    leader = partition(log)
    leader.become_leader(led_by(1, (1,), replicas=(1,)), 0)
    log.append(0, records=3)
    assert leader.advance_high_watermark(0)
    assert leader.replicated_to(3) is ErrorCode.NONE
    assert leader.low_watermark() == 0


def test_a_shrinking_isr_alone_raises_the_high_watermark() -> None:
    log = MemoryLog()
    leader = partition(log)
    leader.become_leader(led_by(1, (1, 2, 3)), 0)
    log.append(0, records=4)
    leader.note_follower_fetch(2, 4, 0, 1)
    leader.note_follower_fetch(3, 1, 0, 1)
    assert (log.high_watermark, leader.replicated_to(4)) == (1, None)
    leader.note_follower_fetch(2, 4, 0, LAG_MS + 2)
    proposal = leader.propose_to_shrink(LAG_MS + 2)
    assert proposal is not None
    assert proposal.isr == (1, 2)
    assert log.high_watermark == 1, "who is to leave counts until it has left"
    assert leader.on_isr_accepted(proposal, 0, (1, 2), 1, LAG_MS + 2).high_watermark
    assert (log.high_watermark, leader.replicated_to(4)) == (4, ErrorCode.NONE)


def test_a_new_leader_does_not_go_back_and_waits_for_its_isr() -> None:
    log = MemoryLog(records=5)
    log.high_watermark = 3
    leader = partition(log)
    leader.become_follower(led_by(2, (1, 2, 3), epoch=0))
    assert not leader.become_leader(led_by(1, (1, 3), epoch=1, version=1), 0)
    assert log.high_watermark == 3
    assert log.leader_epochs.end_offset_for(1, 5) == (1, 5), "the epoch has begun, before its first record"
    leader.note_follower_fetch(3, 2, 0, 1)
    assert log.high_watermark == 3, "never back"
    assert leader.note_follower_fetch(3, 5, 0, 2).high_watermark
    assert log.high_watermark == 5


def test_a_leader_alone_in_its_isr_commits_all_at_once() -> None:
    log = MemoryLog(records=5)
    leader = partition(log)
    assert leader.become_leader(led_by(1, (1,)), 0)
    assert log.high_watermark == 5


def test_older_words_of_the_controller_are_refused_and_known_ones_ignored() -> None:
    leader = partition(MemoryLog())
    leader.become_leader(led_by(1, (1, 2), epoch=5, version=7), 0)
    for state in (led_by(1, (1,), epoch=4, version=8), led_by(1, (1,), epoch=5, version=6)):
        with pytest.raises(ApiError) as error:
            leader.become_leader(state, 0)
        assert refusal(error) is ErrorCode.STALE_CONTROLLER_EPOCH
    with pytest.raises(ApiError) as error:
        leader.become_follower(led_by(2, (2,), epoch=4, version=9))
    assert refusal(error) is ErrorCode.STALE_CONTROLLER_EPOCH
    assert not leader.become_leader(led_by(1, (1,), epoch=5, version=7), 0)
    assert leader.isr.committed == (1, 2)


def test_two_leaders_in_one_epoch_are_a_broken_invariant() -> None:
    leader = partition(MemoryLog())
    leader.become_leader(led_by(1, (1, 2), epoch=5), 0)
    with pytest.raises(AssertionError):
        leader.become_follower(led_by(2, (1, 2), epoch=5, version=1))


def test_a_follower_starts_to_fetch_anew_only_in_a_new_epoch() -> None:
    follower = partition(MemoryLog(), broker_id=2)
    assert follower.become_follower(led_by(1, (1, 2), epoch=1))
    assert not follower.become_follower(led_by(1, (1,), epoch=1, version=1))
    assert follower.become_follower(led_by(1, (1,), epoch=2, version=2))
    assert follower.propose_to_shrink(1_000_000) is None
    assert not follower.advance_high_watermark(0)


def test_requests_are_fenced_by_leader_epoch() -> None:
    log = MemoryLog()
    leader = partition(log)
    leader.become_leader(led_by(1, (1, 2), epoch=5), 0)
    assert leader.require_log() is log
    assert leader.require_log(5) is log
    for epoch, code in ((4, ErrorCode.FENCED_LEADER_EPOCH), (6, ErrorCode.UNKNOWN_LEADER_EPOCH)):
        with pytest.raises(ApiError) as error:
            leader.require_log(epoch)
        assert refusal(error) is code


def test_a_follower_serves_only_who_does_not_need_the_leader() -> None:
    log = MemoryLog()
    follower = partition(log, broker_id=2)
    follower.become_follower(led_by(1, (1, 2)))
    assert follower.require_log(only_leader=False) is log
    with pytest.raises(ApiError) as error:
        follower.require_log()
    assert refusal(error) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert follower.replicated_to(0) is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_an_offline_partition_refuses_everything() -> None:
    leader = partition(MemoryLog())
    leader.become_leader(led_by(1, (1, 2)), 0)
    leader.go_offline()
    with pytest.raises(ApiError) as error:
        leader.require_log()
    assert refusal(error) is ErrorCode.KAFKA_STORAGE_ERROR
    assert leader.replicated_to(0) is ErrorCode.KAFKA_STORAGE_ERROR
    assert leader.propose_to_shrink(1_000_000) is None
    with pytest.raises(ApiError):
        leader.become_leader(led_by(1, (1,), epoch=1, version=1), 0)


def test_where_histories_diverge() -> None:
    log = MemoryLog(records=3, epoch=0)
    log.append(2, records=2)
    leader = partition(log)
    leader.become_leader(led_by(1, (1, 2), epoch=2), 0)
    assert leader.diverging_epoch(2, 2, 5) is None
    assert leader.diverging_epoch(2, 0, 3) is None
    assert leader.diverging_epoch(2, 1, 4) == EpochEndOffset(0, 3)
    assert leader.diverging_epoch(2, 0, 4) == EpochEndOffset(0, 3)
    assert leader.end_offset_for_epoch(0) == EpochEndOffset(0, 3)
    log.log_start_offset = 2
    for last_epoch, offset in ((3, 5), (0, 1)):
        with pytest.raises(ApiError) as error:
            leader.diverging_epoch(2, last_epoch, offset)
        assert refusal(error) is ErrorCode.OFFSET_OUT_OF_RANGE


def test_low_watermark_is_that_of_live_replicas() -> None:
    log, dead = MemoryLog(records=9), set[int]()
    leader = partition(log, dead=dead)
    leader.become_leader(led_by(1, (1, 2, 3)), 0)
    log.log_start_offset = 6
    assert leader.low_watermark() == -1, "nothing is known of followers that have not fetched"
    assert leader.note_follower_fetch(2, 9, 4, 1).low_watermark
    assert leader.low_watermark() == -1
    dead.add(3)
    assert leader.low_watermark() == 4


def test_records_are_deleted_up_to_the_high_watermark() -> None:
    log = MemoryLog(records=9)
    leader = partition(log)
    leader.become_leader(led_by(1, (1,)), 0)
    assert [leader.offset_to_delete_to(offset) for offset in (-1, 0, 9)] == [9, 0, 9]
    for offset in (-2, 10):
        with pytest.raises(ApiError) as error:
            leader.offset_to_delete_to(offset)
        assert refusal(error) is ErrorCode.OFFSET_OUT_OF_RANGE


def test_how_a_partition_is_doing() -> None:
    leader = partition(MemoryLog(), min_isr=2)

    def health(isr: tuple[int, ...], version: int, adding: tuple[int, ...] = ()) -> tuple[bool, bool, bool]:
        leader.become_leader(LeaderAndIsr(1, 0, isr, version, (1, 2, 3), adding), 0)
        return leader.is_under_replicated, leader.is_at_min_isr, leader.is_under_min_isr

    assert health((1, 2, 3), 0) == (False, False, False)
    assert health((1, 2), 1) == (True, True, False)
    assert health((1,), 2) == (True, False, True)
    assert health((1, 2), 3, adding=(3,)) == (False, True, False)
    leader.become_follower(led_by(2, (2,), epoch=1, version=9))
    assert (leader.is_under_replicated, leader.is_at_min_isr, leader.is_under_min_isr) == (False, False, False)


def test_no_more_replicas_are_needed_than_there_are() -> None:
    log = MemoryLog()
    leader = partition(log, min_isr=3)
    leader.become_leader(led_by(1, (1,), replicas=(1,)), 0)
    leader.require_min_isr()
    log.append(0)
    assert leader.advance_high_watermark(0)
