"""What a follower asks, and what each answer of its leader brings about."""

from __future__ import annotations

import json

import pytest

from moldau.base.clock import VirtualClock
from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from moldau.replication.followers.followed_partition import FIRST_DELAY_MS, Stage
from moldau.replication.followers.following import Following
from moldau.replication.followers.settings import FollowerSettings
from moldau.replication.replication_throttle import ReplicationThrottle
from moldau.storage.leader_epochs import EpochEndOffset as LeaderEpochEnd
from tests.unit.replication.followers.value_log import ValueLog

KEY = "t", 0
TOPIC_ID = b"t" * 16
EPOCH = 3
SESSION = 77


class Follower:
    """One fetcher with one partition, unless more are added."""

    def __init__(self, settings: FollowerSettings | None = None, *, records: int = 0, epoch: int = 0) -> None:
        self.clock = VirtualClock()
        self.throttle = ReplicationThrottle(self.clock)
        self.following = Following(1, settings or FollowerSettings(), self.throttle)
        self.log = ValueLog()
        for n in range(records):
            self.log.write(epoch, f"r{n}")
        self.following.add(KEY, TOPIC_ID, EPOCH, self.log)

    def request(self) -> FetchRequest:
        request = self.following.next_fetch(self.clock.monotonic_ms(), broker_epoch=9)
        assert request is not None
        return request

    def asked(self) -> FetchPartition:
        (topic,) = self.request().topics
        (partition,) = topic.partitions
        return partition

    def asks_nothing(self) -> bool:
        return self.following.next_fetch(self.clock.monotonic_ms(), broker_epoch=9) is None

    def hears(self, data: PartitionData, session_id: int = SESSION) -> None:
        topics = [FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[data])]
        for partition, found in self.following.hear(FetchResponse(session_id=session_id, responses=topics)):
            self.following.take(partition, found, self.clock.monotonic_ms())

    @property
    def stage(self) -> Stage:
        return self.following.partitions[KEY].stage


def records(*entries: tuple[int, int, str]) -> memoryview:
    return memoryview(json.dumps(entries).encode())


def test_a_follower_asks_from_its_end_with_the_epoch_of_its_last_record() -> None:
    asked = Follower(records=5, epoch=2).asked()
    assert (asked.fetch_offset, asked.last_fetched_epoch, asked.current_leader_epoch) == (5, 2, EPOCH)


def test_a_request_carries_the_settings_and_who_asks() -> None:
    settings = FollowerSettings(
        fetch_wait_max_ms=7, fetch_min_bytes=8, fetch_max_bytes=9, fetch_response_max_bytes=10, fetch_version_max=17
    )
    request = Follower(settings).request()
    assert (request.max_wait_ms, request.min_bytes, request.max_bytes) == (7, 8, 10)
    assert request.topics[0].partitions[0].partition_max_bytes == 9
    assert request.replica_state is not None
    assert (request.replica_state.replica_id, request.replica_state.replica_epoch) == (1, 9)


def test_before_version_15_the_broker_is_named_in_the_old_place() -> None:
    request = Follower(FollowerSettings(fetch_version_max=12)).request()
    assert (request.replica_id, request.replica_state) == (1, None)


def test_records_are_appended_and_the_high_watermark_follows_up_to_the_end() -> None:
    follower = Follower()
    follower.asked()
    follower.hears(PartitionData(records=records((0, 3, "a"), (1, 3, "b")), high_watermark=10, log_start_offset=0))
    assert follower.log.values == ["a", "b"]
    assert follower.log.high_watermark == 2
    assert follower.following.partitions[KEY].lag == 8
    asked = follower.asked()
    assert (asked.fetch_offset, asked.last_fetched_epoch) == (2, 3)


def test_a_session_says_only_what_has_changed() -> None:
    follower = Follower()
    follower.following.add(("t", 1), TOPIC_ID, EPOCH, ValueLog())
    first = follower.request()
    assert (first.session_id, first.session_epoch, len(first.topics[0].partitions)) == (0, 0, 2)
    follower.hears(PartitionData(records=records((0, 3, "a")), high_watermark=0))
    second = follower.request()
    assert (second.session_id, second.session_epoch) == (SESSION, 1)
    assert [one.partition for one in second.topics[0].partitions] == [0]
    follower.following.remove(("t", 1))
    list(follower.following.hear(FetchResponse(session_id=SESSION)))
    third = follower.request()
    assert (third.session_epoch, third.topics) == (2, [])
    assert [(one.topic_id, one.partitions) for one in third.forgotten_topics_data] == [(TOPIC_ID, [1])]


@pytest.mark.parametrize(
    ("code", "session_id"),
    [(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0), (ErrorCode.INVALID_FETCH_SESSION_EPOCH, SESSION)],
)
def test_a_session_that_ended_is_begun_anew(code: ErrorCode, session_id: int) -> None:
    follower = Follower()
    follower.request()
    follower.hears(PartitionData(high_watermark=0))
    list(follower.following.hear(FetchResponse(error_code=code)))
    again = follower.request()
    assert (again.session_id, again.session_epoch, len(again.topics)) == (session_id, 0, 1)


def test_an_answer_for_a_partition_that_was_given_up_meanwhile_changes_nothing() -> None:
    follower = Follower()
    follower.request()
    newer = ValueLog()
    follower.following.add(KEY, TOPIC_ID, EPOCH + 1, newer)
    follower.hears(PartitionData(records=records((0, 3, "a")), high_watermark=1))
    assert follower.log.values == newer.values == []


def test_a_diverging_epoch_cuts_the_log_and_no_high_watermark_is_taken() -> None:
    follower = Follower(records=5, epoch=2)
    follower.asked()
    follower.hears(PartitionData(diverging_epoch=EpochEndOffset(epoch=2, end_offset=3), high_watermark=4))
    assert follower.log.log_end_offset == 3
    assert follower.log.high_watermark == 0
    assert follower.asked().fetch_offset == 3


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
def test_after_an_error_of_the_leader_a_partition_is_tried_again_later(code: ErrorCode) -> None:
    follower = Follower()
    follower.request()
    follower.hears(PartitionData(error_code=code))
    assert follower.asks_nothing()
    assert follower.following.next_delay_ms(follower.clock.monotonic_ms()) == FIRST_DELAY_MS
    follower.clock.advance(FIRST_DELAY_MS)
    assert follower.asked().fetch_offset == 0


def test_delays_grow_up_to_the_backoff_and_are_forgotten_with_the_first_success() -> None:
    follower = Follower(FollowerSettings(fetch_backoff_ms=100))
    delays = []
    for _ in range(5):
        follower.request()
        follower.hears(PartitionData(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER))
        delay_ms = follower.following.next_delay_ms(follower.clock.monotonic_ms())
        assert delay_ms is not None
        delays.append(delay_ms)
        follower.clock.advance(delay_ms)
    assert delays == [20, 40, 80, 100, 100]
    follower.request()
    follower.hears(PartitionData(high_watermark=0))
    assert follower.following.partitions[KEY].failures == 0


def test_other_partitions_go_on_while_one_is_delayed() -> None:
    follower = Follower()
    follower.following.add(("t", 1), TOPIC_ID, EPOCH, ValueLog())
    follower.request()
    follower.hears(PartitionData(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    request = follower.request()
    assert request.topics == []
    assert request.forgotten_topics_data[0].partitions == [0]
    assert request.max_wait_ms == FIRST_DELAY_MS, "the delay of one must not last as long as the wait of the others"
    assert request.session_epoch == 1


def test_a_corrupt_batch_is_fetched_again_later() -> None:
    follower = Follower()
    follower.log.error = ErrorCode.CORRUPT_MESSAGE
    follower.request()
    follower.hears(PartitionData(records=records((0, 3, "a")), high_watermark=1))
    assert follower.asks_nothing()
    assert KEY in follower.following.partitions


def test_a_log_that_somebody_else_wrote_to_is_left_alone() -> None:
    follower = Follower()
    follower.request()
    follower.log.write(0, "not by this fetcher")
    follower.hears(PartitionData(records=records((0, 3, "a")), high_watermark=1))
    assert list(follower.following.failed) == [KEY]
    assert follower.log.values == ["not by this fetcher"]


@pytest.mark.parametrize("is_leaders", [True, False])
def test_a_fenced_epoch_and_a_failed_disk_wait_for_the_controller(is_leaders: bool) -> None:
    follower = Follower()
    follower.request()
    if is_leaders:
        follower.hears(PartitionData(error_code=ErrorCode.FENCED_LEADER_EPOCH))
    else:
        follower.log.error = ErrorCode.KAFKA_STORAGE_ERROR
        follower.hears(PartitionData(records=records((0, 3, "a")), high_watermark=1))
    assert list(follower.following.failed) == [KEY]
    assert not follower.following.partitions
    follower.following.add(KEY, TOPIC_ID, EPOCH + 1, ValueLog())
    assert not follower.following.failed
    assert follower.asked().current_leader_epoch == EPOCH + 1


@pytest.mark.parametrize(
    ("leader_start", "leader_end", "own_start", "own_end"),
    [(0, 3, 0, 3), (8, 20, 8, 8), (0, 20, 0, 5)],
    ids=["the leader is shorter", "the leader begins later", "the leader has caught up meanwhile"],
)
def test_out_of_range_goes_on_where_the_leader_has_something(
    leader_start: int, leader_end: int, own_start: int, own_end: int
) -> None:
    follower = Follower(records=5)
    follower.request()
    follower.hears(PartitionData(error_code=ErrorCode.OFFSET_OUT_OF_RANGE))
    assert follower.stage is Stage.LOST
    assert follower.asks_nothing()
    (lost,) = follower.following.lost()
    follower.following.hear_offsets(lost, leader_start, leader_end, follower.clock.monotonic_ms())
    assert (follower.log.log_start_offset, follower.log.log_end_offset) == (own_start, own_end)
    follower.clock.advance(FIRST_DELAY_MS)
    assert follower.asked().fetch_offset == own_end


def test_before_version_12_the_epoch_is_asked_for_first() -> None:
    follower = Follower(FollowerSettings(fetch_version_max=11), records=5, epoch=2)
    assert follower.asks_nothing()
    (truncating,) = follower.following.truncating()
    assert truncating.last_fetched_epoch == 2
    follower.following.hear_epoch_end(truncating, LeaderEpochEnd(2, 4), 0.0)
    asked = follower.asked()
    assert (asked.fetch_offset, asked.last_fetched_epoch) == (4, -1)


def test_an_older_leader_is_asked_for_epochs_although_the_settings_are_new() -> None:
    follower = Follower(records=5, epoch=2)
    follower.following.connected(version=11)
    assert len(follower.following.truncating()) == 1
    follower.following.connected(version=17)
    assert follower.asked().last_fetched_epoch == 2


def test_without_epochs_everything_above_the_high_watermark_goes() -> None:
    log = ValueLog()
    for n in range(5):
        log.write(0, f"r{n}")
    log.high_watermark = 2
    settings = FollowerSettings(uses_epochs=False, fetch_version_max=11)
    following = Following(1, settings, ReplicationThrottle(VirtualClock()))
    following.add(KEY, TOPIC_ID, EPOCH, log)
    assert log.log_end_offset == 2
    assert not following.truncating()


def test_a_throttled_partition_that_lags_waits_until_the_rate_is_down() -> None:
    follower = Follower()
    follower.throttle.rate_max = 100
    follower.throttle.throttle_topic("t", None)
    follower.request()
    batch = records((0, 3, "a" * 500))
    follower.hears(PartitionData(records=batch, high_watermark=10))
    assert follower.asks_nothing()
    assert follower.following.is_throttled
    follower.clock.advance(6_000)
    assert follower.asked().fetch_offset == 1


def test_a_throttled_partition_in_sync_is_fetched_whatever_the_rate() -> None:
    follower = Follower()
    follower.throttle.rate_max = 1
    follower.throttle.throttle_topic("t", frozenset([0]))
    follower.request()
    follower.hears(PartitionData(records=records((0, 3, "a" * 500)), high_watermark=1))
    assert follower.asked().fetch_offset == 1


def test_the_leader_hears_of_the_followers_log_start() -> None:
    follower = Follower(records=5)
    follower.log.high_watermark = 5
    follower.request()
    follower.hears(PartitionData(high_watermark=5, log_start_offset=3))
    assert follower.asked().log_start_offset == 3
