"""Produce, DeleteRecords and fetch requests that wait: what they wait for, and what they answer (A20, A21, A22)."""

from __future__ import annotations

from collections.abc import Hashable

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.replication.delayed import Purgatory
from moldau.replication.delayed_fetch import DelayedFetch, FetchIsolation, FetchWait
from moldau.replication.delayed_offsets import DelayedDeleteRecords, DelayedProduce, DeleteRecordsOutcome
from moldau.replication.partition import Partition
from tests.unit.replication.manual_timers import ManualTimers
from tests.unit.replication.memory_log import MemoryLog, led_by, partition

RECORD_BYTES = 100


class Leader:
    """A broker that leads two partitions, each replicated to 2 and 3."""

    def __init__(self, min_isr: int = 1) -> None:
        self.timers = ManualTimers()
        self.purgatory = Purgatory(self.timers)
        self.logs = {"a": MemoryLog(), "b": MemoryLog()}
        self.partitions: dict[Hashable, Partition[MemoryLog]] = {}
        for key, log in self.logs.items():
            self.partitions[key] = partition(log, min_isr=min_isr)
            self.partitions[key].become_leader(led_by(1, (1, 2, 3)), 0)
        self.produced: list[dict[Hashable, ErrorCode]] = []
        self.deleted: list[dict[Hashable, DeleteRecordsOutcome]] = []
        self.fetched = 0

    def partition_of(self, key: Hashable) -> Partition[MemoryLog]:
        if key not in self.partitions:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return self.partitions[key]

    def produce(self, *keys: str, timeout_ms: int = 30_000) -> bool:
        required: dict[Hashable, int] = {}
        for key in keys:
            self.partitions[key].require_min_isr()
            self.logs[key].append(0)
            self.partitions[key].advance_high_watermark(0)
            required[key] = self.logs[key].log_end_offset
        operation = DelayedProduce(
            timeout_ms, required, lambda key, end: self.partitions[key].replicated_to(end), self.produced.append
        )
        return self.purgatory.try_complete_else_watch(operation, required)

    def follower_fetches(self, key: str, broker_id: int, offset: int, log_start_offset: int = 0) -> None:
        moved = self.partitions[key].note_follower_fetch(broker_id, offset, log_start_offset, self.timers.wheel.now_ms)
        if moved.high_watermark or moved.low_watermark:
            self.purgatory.touch(key)

    def delete(self, key: str, offset: int) -> bool:
        def check(key: Hashable, required: int) -> DeleteRecordsOutcome | None:
            low_watermark = self.partitions[key].low_watermark()
            return DeleteRecordsOutcome(ErrorCode.NONE, low_watermark) if low_watermark >= required else None

        self.logs[key].log_start_offset = offset
        operation = DelayedDeleteRecords(1_000, {key: offset}, check, self.deleted.append)
        return self.purgatory.try_complete_else_watch(operation, [key])

    def fetch(
        self,
        waits: dict[Hashable, FetchWait],
        min_bytes: int = 1,
        isolation: FetchIsolation = FetchIsolation.HIGH_WATERMARK,
    ) -> bool:
        def answered() -> None:
            self.fetched += 1

        def bytes_between(_key: Hashable, start_offset: int, end_offset: int) -> int:
            return (end_offset - start_offset) * RECORD_BYTES

        operation = DelayedFetch(500, min_bytes, waits, self.partition_of, bytes_between, answered, isolation=isolation)
        return self.purgatory.try_complete_else_watch(operation, waits)


def test_a_produce_waits_for_all_its_partitions() -> None:
    leader = Leader()
    assert not leader.produce("a", "b")
    for broker_id in (2, 3):
        leader.follower_fetches("a", broker_id, 1)
    leader.follower_fetches("b", 2, 1)
    assert leader.produced == []
    leader.follower_fetches("b", 3, 1)
    assert leader.produced == [{"a": ErrorCode.NONE, "b": ErrorCode.NONE}]


def test_a_produce_that_times_out_says_which_partitions_did() -> None:
    leader = Leader()
    leader.produce("a", "b")
    for broker_id in (2, 3):
        leader.follower_fetches("a", broker_id, 1)
    leader.timers.advance(29_999)
    assert leader.produced == []
    leader.timers.advance(1)
    assert leader.produced == [{"a": ErrorCode.NONE, "b": ErrorCode.REQUEST_TIMED_OUT}]
    assert leader.logs["b"].log_end_offset == 1, "the record stays"


def test_too_few_in_sync_replicas_refuse_before_the_append() -> None:
    leader = Leader(min_isr=2)
    leader.partitions["a"].become_leader(led_by(1, (1,), version=1), 0)
    with pytest.raises(ApiError) as error:
        leader.produce("a")
    assert error.value.code is ErrorCode.NOT_ENOUGH_REPLICAS
    assert leader.logs["a"].log_end_offset == 0


def test_an_isr_that_shrinks_after_the_append_ends_the_wait_with_an_error() -> None:
    leader = Leader(min_isr=2)
    leader.produce("a")
    leader.partitions["a"].become_leader(led_by(1, (1,), version=1), 0)
    leader.purgatory.touch("a")
    assert leader.produced == [{"a": ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND}]
    assert leader.logs["a"].high_watermark == 0, "nobody sees what is in too few replicas"


def test_a_produce_ends_when_leadership_is_lost() -> None:
    leader = Leader()
    leader.produce("a")
    leader.partitions["a"].become_follower(led_by(2, (2, 3), epoch=1, version=1))
    leader.purgatory.touch("a")
    assert leader.produced == [{"a": ErrorCode.NOT_LEADER_OR_FOLLOWER}]


def test_an_outcome_is_final() -> None:
    leader = Leader()
    leader.produce("a", "b")
    for broker_id in (2, 3):
        leader.follower_fetches("a", broker_id, 1)
    leader.partitions["a"].become_follower(led_by(2, (2, 3), epoch=1, version=1))
    leader.purgatory.touch("a")
    for broker_id in (2, 3):
        leader.follower_fetches("b", broker_id, 1)
    assert leader.produced == [{"a": ErrorCode.NONE, "b": ErrorCode.NONE}]


def test_delete_records_waits_for_the_start_of_every_live_replica() -> None:
    leader = Leader()
    assert not leader.delete("a", 5)
    leader.follower_fetches("a", 2, 0, log_start_offset=5)
    assert leader.deleted == []
    leader.follower_fetches("a", 3, 0, log_start_offset=6)
    assert leader.deleted == [{"a": DeleteRecordsOutcome(ErrorCode.NONE, 5)}]


def test_delete_records_times_out_without_a_low_watermark() -> None:
    leader = Leader()
    leader.delete("a", 5)
    leader.timers.advance(1_000)
    assert leader.deleted == [{"a": DeleteRecordsOutcome(ErrorCode.REQUEST_TIMED_OUT, -1)}]


def test_a_follower_waits_for_the_append_and_a_consumer_for_the_high_watermark() -> None:
    leader = Leader()
    leader.fetch({"a": FetchWait(0, 1_000)}, isolation=FetchIsolation.LOG_END)
    leader.fetch({"a": FetchWait(0, 1_000)})
    leader.logs["a"].append(0)
    assert leader.purgatory.touch("a") == 1
    for broker_id in (2, 3):
        leader.follower_fetches("a", broker_id, 1)
    assert leader.fetched == 2


def test_a_reader_of_committed_records_waits_for_the_last_stable_offset() -> None:
    leader = Leader()
    log = leader.logs["a"]
    log.open_transaction_offset = 0
    leader.fetch({"a": FetchWait(0, 1_000)}, isolation=FetchIsolation.TXN_COMMITTED)
    log.append(0)
    for broker_id in (2, 3):
        leader.follower_fetches("a", broker_id, 1)
    assert leader.fetched == 0
    log.open_transaction_offset = None
    leader.purgatory.touch("a")
    assert leader.fetched == 1


def test_min_bytes_are_summed_over_partitions_and_each_counts_up_to_its_limit() -> None:
    leader = Leader()
    waits: dict[Hashable, FetchWait] = {"a": FetchWait(0, 150), "b": FetchWait(0, 1_000)}
    leader.fetch(waits, min_bytes=250, isolation=FetchIsolation.LOG_END)
    leader.logs["a"].append(0, records=50)
    assert leader.purgatory.touch("a") == 0
    leader.logs["b"].append(0)
    assert leader.purgatory.touch("b") == 1


def test_a_fetch_ends_with_its_time() -> None:
    leader = Leader()
    leader.fetch({"a": FetchWait(0, 1_000)})
    leader.timers.advance(500)
    assert leader.fetched == 1


@pytest.mark.parametrize("event", ["not leader", "new epoch", "gone", "offline", "truncated"])
def test_a_fetch_ends_when_waiting_makes_no_sense(event: str) -> None:
    leader = Leader()
    log = leader.logs["a"]
    log.append(0, records=5)
    log.high_watermark = 5
    assert not leader.fetch({"a": FetchWait(5, 1_000, current_leader_epoch=0)})
    if event == "not leader":
        leader.partitions["a"].become_follower(led_by(2, (2, 3), epoch=1, version=1))
    elif event == "new epoch":
        leader.partitions["a"].become_leader(led_by(1, (1, 2), epoch=1, version=1), 0)
    elif event == "gone":
        del leader.partitions["a"]
    elif event == "offline":
        leader.partitions["a"].go_offline()
    else:
        log.high_watermark = 3
    assert leader.purgatory.touch("a") == 1
    assert leader.fetched == 1


def test_a_fetch_ends_when_histories_diverge() -> None:
    leader = Leader()
    log = leader.logs["a"]
    log.append(0, records=5)
    wait = FetchWait(5, 1_000, last_fetched_epoch=0)
    assert not leader.fetch({"a": wait}, isolation=FetchIsolation.LOG_END, min_bytes=10_000)
    del log.epochs[4:]
    log.append(2)
    assert leader.purgatory.touch("a") == 1
