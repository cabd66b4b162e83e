"""Which partitions of a follower's session a leader looks at, and what ends a wait."""

from __future__ import annotations

import pytest

from moldau.base.clock import VirtualClock
from moldau.protocol.messages.fetch import FetchPartition, PartitionData
from moldau.replication.fetch_session import FetchSession, PartitionKey, RequestedPartition
from moldau.replication.follower_watch import ABANDONED_MS, FollowerWatch
from moldau.replication.partition import Partition
from moldau.replication.replicas import Replicas, Surroundings
from tests.unit.replication.manual_timers import ManualTimers
from tests.unit.replication.memory_log import MemoryLog, led_by, partition

FOLLOWER = 2
EPOCH = 4
KEYS = [("t", 0), ("t", 1)]


class Leader:
    """Two partitions with two records each, all of which the follower has, and a session for them."""

    def __init__(self) -> None:
        self.timers = ManualTimers()
        self.clock = VirtualClock()
        surroundings = Surroundings(is_alive=lambda _broker: True, is_known=lambda _key: True)
        self.replicas = Replicas(1, None, self.timers, self.clock, surroundings)  # type: ignore[arg-type]
        self.partitions: dict[tuple[str, int], Partition[MemoryLog]] = {}
        for key in KEYS:
            led = self.partitions[key] = partition(MemoryLog(2, EPOCH))
            led.become_leader(led_by(1, (1, FOLLOWER), epoch=EPOCH, replicas=(1, FOLLOWER)), 0.0)
            led.note_follower_fetch(FOLLOWER, 2, 0, 0.0)
            self.replicas.partitions[key] = led  # type: ignore[assignment]
        asked: dict[PartitionKey, RequestedPartition] = {
            key: RequestedPartition(
                key, key[0], bytes(16), FetchPartition(partition=key[1], fetch_offset=2, current_leader_epoch=EPOCH)
            )
            for key in KEYS
        }
        self.session = FetchSession(7, asked, is_privileged=True, uses_topic_ids=False, now_ms=0.0)
        self.watch = FollowerWatch(self.replicas, self.timers, self.session, FOLLOWER)
        self.ended = 0

    def tell_all(self) -> None:
        for key, requested in self.session.partitions.items():
            log = self.partitions[key[0], key[1]].log  # type: ignore[index]
            assert log is not None
            requested.note_told(
                PartitionData(
                    high_watermark=log.high_watermark,
                    last_stable_offset=log.last_stable_offset,
                    log_start_offset=log.log_start_offset,
                )
            )
        self.watch.settle()

    def append(self, key: tuple[str, int]) -> None:
        log = self.partitions[key].log
        assert log is not None
        log.append(EPOCH)
        self.replicas.fetches.touch(key)

    def wait(self) -> None:
        self.watch.wait(self._end, 500, 1)

    def _end(self) -> None:
        self.ended += 1


@pytest.fixture
def leader() -> Leader:
    return Leader()


def test_everything_is_looked_at_until_it_was_told(leader: Leader) -> None:
    assert set(leader.watch.attention) == set(KEYS)
    leader.tell_all()
    assert not leader.watch.attention


def test_a_touched_partition_is_looked_at_until_the_follower_has_it(leader: Leader) -> None:
    leader.tell_all()
    leader.append(KEYS[1])
    assert set(leader.watch.attention) == {KEYS[1]}
    leader.tell_all()
    assert set(leader.watch.attention) == {KEYS[1]}, "the follower has not said that it has the record"
    leader.session.partitions[KEYS[1]].request.fetch_offset = 3
    leader.tell_all()
    assert not leader.watch.attention


def test_an_append_ends_a_wait_and_only_once(leader: Leader) -> None:
    leader.tell_all()
    leader.wait()
    leader.append(KEYS[0])
    leader.append(KEYS[1])
    assert leader.ended == 1
    assert leader.replicas.fetches.delayed == 0


def test_time_ends_a_wait(leader: Leader) -> None:
    leader.tell_all()
    leader.wait()
    leader.timers.advance(500)
    assert leader.ended == 1


@pytest.mark.parametrize("tells_high_watermark", [False, True])
def test_a_new_high_watermark_is_told_with_the_next_answer_or_at_once(
    leader: Leader, tells_high_watermark: bool
) -> None:
    leader.tell_all()
    leader.watch.tells_high_watermark = tells_high_watermark
    leader.wait()
    log = leader.partitions[KEYS[0]].log
    assert log is not None
    log.high_watermark -= 1
    leader.replicas.fetches.touch(KEYS[0])
    assert set(leader.watch.attention) == {KEYS[0]}
    assert leader.ended == int(tells_high_watermark)


def test_a_wait_ends_when_the_partition_is_led_by_another(leader: Leader) -> None:
    leader.tell_all()
    leader.wait()
    leader.partitions[KEYS[0]].become_follower(led_by(3, (3,), epoch=EPOCH + 1, version=1))
    leader.replicas.touch(KEYS[0])
    assert leader.ended == 1


def test_a_quiet_follower_was_caught_up_at_its_last_fetch(leader: Leader) -> None:
    leader.tell_all()
    leader.watch.fetched_ms = 60_000.0
    leader.append(KEYS[0])
    replica = leader.partitions[KEYS[0]].remote_replicas[FOLLOWER]
    assert replica.is_caught_up(3, 60_000.0 + 9_999, 10_000)
    assert not replica.is_caught_up(3, 60_000.0 + 10_001, 10_000)


def test_a_follower_out_of_sync_is_never_quiet(leader: Leader) -> None:
    leader.partitions[KEYS[0]].isr.commit((1,))
    leader.tell_all()
    assert set(leader.watch.attention) == {KEYS[0]}


def test_the_watch_of_a_follower_that_is_gone_ends(leader: Leader) -> None:
    leader.tell_all()
    leader.clock.advance(ABANDONED_MS + 1)
    leader.append(KEYS[0])
    assert leader.session.watch is None
    assert leader.replicas.fetches.keys_count == 0


def test_the_end_of_a_session_leaves_nothing_behind(leader: Leader) -> None:
    leader.wait()
    leader.watch.forget(leader.session.partitions[KEYS[0]])
    leader.watch.close()
    assert leader.ended == 1
    assert leader.replicas.fetches.keys_count == 0
