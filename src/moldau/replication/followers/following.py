"""All partitions that one fetcher copies from one leader: what to ask next, and what an answer brings about.

A round of the fetcher is: ask where epochs end, for partitions that need it; fetch; hear each partition of the answer;
ask what the leader has, where it did not have what was asked for. The owner does the asking and tells the time.

Only partitions about which something has changed are looked at when a request is made, so that a round costs as much as
there is news, whatever the number of partitions. An answer counts for a partition only if it stands where it stood when
it was asked for; the controller may have said something else meanwhile.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from math import ceil
from typing import Protocol

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, PartitionData, ReplicaState
from moldau.replication.followers.followed_partition import FollowedPartition, FollowerReplica, Stage
from moldau.replication.followers.leader_session import Asked, LeaderSession
from moldau.replication.followers.settings import TOPIC_IDS_VERSION, TRUNCATION_ON_FETCH_VERSION, FollowerSettings
from moldau.replication.followers.truncation import truncation_for
from moldau.storage.leader_epochs import EpochEndOffset
from moldau.storage.log_directory import TopicPartition

logger = logging.getLogger(__name__)

REPLICA_STATE_VERSION = 15


class Throttle(Protocol):
    """How much throttled replicas may fetch (KIP-73)."""

    def is_throttled(self, key: TopicPartition) -> bool: ...
    def is_exceeded(self) -> bool: ...
    def record(self, size_bytes: int) -> None: ...


class Following:
    """`failed` are partitions that wait for the controller: their log is offline, or another leader is known."""

    def __init__(self, broker_id: int, settings: FollowerSettings, throttle: Throttle) -> None:
        self._broker_id = broker_id
        self._settings = settings
        self._throttle = throttle
        self._session = LeaderSession()
        self._changed: dict[TopicPartition, None] = {}
        self._throttled: dict[TopicPartition, None] = {}
        self._lost: dict[TopicPartition, None] = {}
        self._delayed: list[tuple[float, TopicPartition]] = []
        self.partitions: dict[TopicPartition, FollowedPartition] = {}
        self.failed: dict[TopicPartition, None] = {}
        self.version = settings.fetch_version_max

    @property
    def truncates_on_fetch(self) -> bool:
        return self.version >= TRUNCATION_ON_FETCH_VERSION

    # -- which partitions

    def add(self, key: TopicPartition, topic_id: bytes, leader_epoch: int, replica: FollowerReplica) -> None:
        """Begin to copy a partition in an epoch of its leader."""
        partition = FollowedPartition(key, topic_id, leader_epoch, replica)
        self.remove(key)
        self.partitions[key] = partition
        try:
            self._begin(partition)
        except ApiError as error:
            self._fail(partition, str(error))

    def remove(self, key: TopicPartition) -> None:
        self.failed.pop(key, None)
        self._lost.pop(key, None)
        if self.partitions.pop(key, None) is not None:
            self._changed[key] = None

    def _begin(self, partition: FollowedPartition) -> None:
        """With leader epochs the leader says where to cut; without, all but what is committed goes."""
        replica, settings = partition.replica, self._settings
        if not settings.uses_epochs or replica.leader_epochs.latest_epoch is None:
            if replica.high_watermark < replica.log_end_offset:
                replica.truncate_to(replica.high_watermark)
        elif not self.truncates_on_fetch:
            partition.stage = Stage.TRUNCATING
        self._stand(partition)

    def _stand(self, partition: FollowedPartition) -> None:
        partition.stand_at_end()
        self._changed[partition.key] = None

    def connected(self, version: int) -> None:
        """A new connection, on which Fetch has this version: the leader there may know nothing of us."""
        self._session.begin_anew()
        used = min(version, self._settings.fetch_version_max)
        was_on_fetch, self.version = self.truncates_on_fetch, used
        if self.truncates_on_fetch != was_on_fetch and self._settings.uses_epochs:
            stage = Stage.FETCHING if self.truncates_on_fetch else Stage.TRUNCATING
            for partition in self.partitions.values():
                if partition.replica.leader_epochs.latest_epoch is not None:
                    partition.stage = stage

    # -- delays and failures

    def _delay(self, partition: FollowedPartition, reason: str, now_ms: float) -> None:
        level = logging.DEBUG if not partition.failures else logging.INFO
        logger.log(level, "%s-%d is not fetched for now: %s", *partition.key, reason)
        until_ms = partition.delay(now_ms, self._settings.fetch_backoff_ms)
        heappush(self._delayed, (until_ms, partition.key))
        self._changed[partition.key] = None

    def _fail(self, partition: FollowedPartition, reason: str, level: int = logging.ERROR) -> None:
        """Until the controller says something new of it, nothing more is tried."""
        logger.log(level, "%s-%d is not replicated: %s", *partition.key, reason)
        self.remove(partition.key)
        self.failed[partition.key] = None

    def _end_delays(self, now_ms: float) -> None:
        delayed = self._delayed
        while delayed and delayed[0][0] <= now_ms:
            until_ms, key = heappop(delayed)
            partition = self.partitions.get(key)
            if partition is not None and partition.delayed_until_ms == until_ms:
                partition.delayed_until_ms = None
                self._changed[key] = None

    def next_delay_ms(self, now_ms: float) -> float | None:
        """In what time a delay ends; None if nothing is delayed."""
        return max(self._delayed[0][0] - now_ms, 0.0) if self._delayed else None

    def _in_stage(self, stage: Stage, keys: Iterable[TopicPartition]) -> list[FollowedPartition]:
        found = (self.partitions.get(key) for key in keys)
        return [one for one in found if one is not None and one.stage is stage and one.delayed_until_ms is None]

    def refused(self, partition: FollowedPartition, code: ErrorCode, now_ms: float) -> None:
        """The leader has answered with an error, to whatever was asked."""
        if self.partitions.get(partition.key) is not partition:
            return
        if code is ErrorCode.OFFSET_OUT_OF_RANGE and partition.stage is Stage.FETCHING:
            partition.stage = Stage.LOST
            self._lost[partition.key] = None
            self._changed[partition.key] = None
        elif code is ErrorCode.FENCED_LEADER_EPOCH:
            # The controller's word about the new epoch is on its way.
            self._fail(partition, f"its leader is in a later epoch than {partition.leader_epoch}", logging.INFO)
        else:
            self._delay(partition, code.name, now_ms)

    # -- fetching

    def next_fetch(self, now_ms: float, broker_epoch: int) -> FetchRequest | None:
        """The next request; None if there is nothing to ask for now."""
        self._end_delays(now_ms)
        session = self._session
        looked_at = list(self.partitions if session.is_full else self._changed | self._throttled)
        asking, leaving = [], []
        for key in looked_at:
            asked = self._ask(key)
            if asked is not None:
                asking.append(asked)
            elif key in session.known:
                leaving.append(key)
        if not asking and (session.is_full or len(session.known) <= len(leaving)):
            return None
        topics, forgotten = session.tell(asking, leaving)
        self._changed.clear()
        settings, is_old = self._settings, self.version_to_use < REPLICA_STATE_VERSION
        return FetchRequest(
            replica_id=self._broker_id if is_old else -1,
            replica_state=None if is_old else ReplicaState(replica_id=self._broker_id, replica_epoch=broker_epoch),
            max_wait_ms=self._wait_max_ms(now_ms),
            min_bytes=settings.fetch_min_bytes,
            max_bytes=settings.fetch_response_max_bytes,
            session_id=session.id,
            session_epoch=session.epoch,
            topics=topics,
            forgotten_topics_data=forgotten,
        )

    def _wait_max_ms(self, now_ms: float) -> int:
        """The leader may hold the answer back until then; whose delay is over meanwhile must not wait for others."""
        delay_ms = self.next_delay_ms(now_ms)
        wait_max_ms = self._settings.fetch_wait_max_ms
        return wait_max_ms if delay_ms is None else min(wait_max_ms, ceil(delay_ms))

    @property
    def version_to_use(self) -> int:
        """Topics go by id only if all of them have one."""
        return self.version if self._session.uses_topic_ids else min(self.version, TOPIC_IDS_VERSION - 1)

    def _ask(self, key: TopicPartition) -> Asked | None:
        """What to ask for a partition; None if it is not to be fetched now."""
        partition = self.partitions.get(key)
        if partition is None or partition.stage is not Stage.FETCHING or partition.delayed_until_ms is not None:
            self._throttled.pop(key, None)
            return None
        throttle = self._throttle
        if not partition.is_in_sync and throttle.is_throttled(key) and throttle.is_exceeded():
            self._throttled[key] = None
            return None
        self._throttled.pop(key, None)
        try:
            log_start_offset = partition.replica.log_start_offset
        except ApiError as error:
            self._fail(partition, str(error))
            return None
        request = FetchPartition(
            partition=key[1],
            current_leader_epoch=partition.leader_epoch,
            fetch_offset=partition.offset,
            last_fetched_epoch=partition.last_fetched_epoch if self.truncates_on_fetch else -1,
            log_start_offset=log_start_offset,
            partition_max_bytes=self._settings.fetch_max_bytes,
        )
        return Asked(partition, request, partition.topic_id)

    @property
    def is_throttled(self) -> bool:
        """Whether something would be fetched, were it not for the throttle."""
        return bool(self._throttled)

    def unanswered(self) -> None:
        """A fetch was not answered: what the leader knows now is unknown."""
        self._session.begin_anew()

    # -- hearing

    def hear(self, response: FetchResponse) -> Iterator[tuple[FollowedPartition, PartitionData]]:
        """What the answer says of partitions that still stand where they were asked for; to be taken one by one."""
        session = self._session
        if not session.hear(response):
            logger.info("a fetch session ended: %s", ErrorCode(response.error_code).name)
            return
        for topic in response.responses:
            for data in topic.partitions:
                key = session.key_of(topic.topic, topic.topic_id, data.partition_index)
                partition = self.partitions.get(key)
                if partition is not None and self.stands(partition):
                    yield partition, data

    def stands(self, partition: FollowedPartition) -> bool:
        """Whether a partition is where it was when the leader was last asked for it."""
        asked = self._session.known.get(partition.key)
        return (
            asked is not None
            and asked.partition is partition
            and self.partitions.get(partition.key) is partition
            and asked.request.fetch_offset == partition.offset
            and partition.delayed_until_ms is None
            and partition.stage is Stage.FETCHING
        )

    def take(self, partition: FollowedPartition, data: PartitionData, now_ms: float) -> None:
        """What the leader says of one partition."""
        if data.error_code:
            self.refused(partition, ErrorCode(data.error_code), now_ms)
            return
        diverging = data.diverging_epoch
        try:
            if diverging is not None and diverging.epoch >= 0 and self.truncates_on_fetch:
                self._truncate(partition, EpochEndOffset(diverging.epoch, diverging.end_offset))
            else:
                self._advance(partition, data)
            partition.failures = 0
        except ApiError as error:
            if error.code is ErrorCode.KAFKA_STORAGE_ERROR:
                self._fail(partition, str(error))
            else:
                self._delay(partition, str(error), now_ms)

    def _advance(self, partition: FollowedPartition, data: PartitionData) -> None:
        replica, key, records = partition.replica, partition.key, data.records
        if replica.log_end_offset != partition.offset:  # one bad log must not keep the others of this fetcher
            self._fail(partition, f"its log ends at {replica.log_end_offset}, and {partition.offset} was fetched")
            return
        if records:
            replica.append(records)
            self._stand(partition)
            if self._throttle.is_throttled(key):
                self._throttle.record(len(records))
        replica.follow(data.high_watermark, data.log_start_offset)
        partition.lag = max(data.high_watermark - partition.offset, 0)
        asked = self._session.known.get(key)
        if asked is not None and asked.request.log_start_offset != replica.log_start_offset:
            self._changed[key] = None  # the leader waits for it if records were deleted

    # -- truncation

    def truncating(self) -> list[FollowedPartition]:
        """Partitions of which the leader is to say where their last epoch ends."""
        if self.truncates_on_fetch:
            return []
        return self._in_stage(Stage.TRUNCATING, self.partitions)

    def hear_epoch_end(self, partition: FollowedPartition, leader: EpochEndOffset, now_ms: float) -> None:
        """The leader's answer for one of `truncating`."""
        if self.partitions.get(partition.key) is partition and partition.stage is Stage.TRUNCATING:
            try:
                self._truncate(partition, leader)
            except ApiError as error:
                self._delay(partition, str(error), now_ms)

    def _truncate(self, partition: FollowedPartition, leader: EpochEndOffset) -> None:
        replica = partition.replica
        truncation = truncation_for(leader, replica.leader_epochs, replica.log_end_offset, replica.high_watermark)
        replica.truncate_to(truncation.offset)
        if truncation.is_complete or replica.leader_epochs.latest_epoch is None:
            partition.stage = Stage.FETCHING
        self._stand(partition)

    # -- out of range

    def lost(self) -> list[FollowedPartition]:
        """Partitions that asked for an offset that the leader does not have."""
        return self._in_stage(Stage.LOST, self._lost)

    def hear_offsets(
        self, partition: FollowedPartition, leader_start_offset: int, leader_end_offset: int, now_ms: float
    ) -> None:
        """What the leader has, for one of `lost`: cut what is beyond its end, or begin anew at its start."""
        if self.partitions.get(partition.key) is not partition or partition.stage is not Stage.LOST:
            return
        replica = partition.replica
        try:
            end_offset = replica.log_end_offset
            if leader_end_offset < end_offset:
                replica.truncate_to(leader_end_offset)
            elif leader_start_offset > end_offset:
                replica.truncate_fully_and_start_at(leader_start_offset)
            partition.stage = Stage.FETCHING
            self._lost.pop(partition.key, None)
            self._stand(partition)
        except ApiError as error:
            self._fail(partition, str(error))
        else:
            logger.warning("%s-%d goes on from offset %d, after %d", *partition.key, partition.offset, end_offset)
            partition.lag = max(leader_end_offset - partition.offset, 0)
            if partition.offset == end_offset:  # nothing to be done about it: not at once again
                self._delay(partition, "the leader refused an offset that it has", now_ms)
