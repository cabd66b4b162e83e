"""Brokers with a replica each of one partition, without network: real partitions and followers on logs in memory.

The controller's part is played by the caller. A fetch is one step: the request is made, the leader takes note of it,
and its answer, if it is not lost, is taken. What is in a log survives a crash, unless the caller says that it was not
on the disk; the high watermark is as it was written down last.
"""

from __future__ import annotations

from moldau.base.clock import VirtualClock
from moldau.base.errors import ApiError
from moldau.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchResponse,
    PartitionData,
)
from moldau.replication.followers.following import Following
from moldau.replication.followers.settings import FollowerSettings
from moldau.replication.partition import Partition
from moldau.replication.partition_state import LeaderAndIsr
from moldau.replication.replication_throttle import ReplicationThrottle
from tests.unit.replication.followers.value_log import ValueLog

KEY = "t", 0
TOPIC_ID = b"t" * 16
LAG_MS = 10_000
READ_MAX = 3


class Broker:
    """One replica, and the partition while the broker runs."""

    def __init__(self, broker_id: int) -> None:
        self.id = broker_id
        self.log = ValueLog()
        self.written_high_watermark = 0
        self.partition: Partition[ValueLog] | None = None
        self.following: Following | None = None

    @property
    def is_running(self) -> bool:
        return self.partition is not None

    @property
    def leads(self) -> bool:
        return self.partition is not None and self.partition.is_leader

    @property
    def led(self) -> Partition[ValueLog]:
        assert self.partition is not None, "it does not run"
        return self.partition


class ReplicaGroup:
    def __init__(self, brokers: int, settings: FollowerSettings | None = None, *, min_isr: int = 1) -> None:
        self.settings = settings or FollowerSettings()
        self.min_isr = min_isr
        self.now_ms = 0.0
        self.brokers = {broker_id: Broker(broker_id) for broker_id in range(brokers)}
        self.leader: int | None = None
        self.epoch = -1
        self.partition_epoch = 0
        self.isr = tuple(self.brokers)
        for broker_id in self.brokers:
            self.start(broker_id)

    # -- the controller's part

    def start(self, broker_id: int) -> None:
        broker = self.brokers[broker_id]
        assert not broker.is_running
        broker.partition = Partition(
            "t-0",
            broker_id,
            broker.log,
            min_insync_replicas=self.min_isr,
            replica_lag_time_max_ms=LAG_MS,
            is_alive=lambda other: self.brokers[other].is_running,
        )
        if self.leader is not None:
            self._tell(broker)

    def crash(self, broker_id: int, lost: int = 0) -> None:
        """End a broker; its last records may not have been on the disk."""
        broker = self.brokers[broker_id]
        broker.partition = broker.following = None
        log = broker.log
        log.truncate_to(max(log.log_end_offset - lost, log.log_start_offset))
        log.high_watermark = min(broker.written_high_watermark, log.log_end_offset)
        if self.leader == broker_id:
            self.leader = None

    def elect(self, leader: int) -> None:
        """Let a broker lead from now on; the ISR is what of it is running, with the leader."""
        self.leader = leader
        self.epoch += 1
        running = {broker.id for broker in self.brokers.values() if broker.is_running}
        kept = tuple(one for one in self.isr if one in running) if leader in self.isr else ()
        self._change_isr(kept or (leader,))

    def _change_isr(self, isr: tuple[int, ...]) -> None:
        self.isr = isr
        self.partition_epoch += 1
        for broker in self.brokers.values():
            if broker.is_running:
                self._tell(broker)

    def shrink_isr(self) -> None:
        """Leave out who does not run."""
        self._change_isr(tuple(one for one in self.isr if self.brokers[one].is_running))

    def _tell(self, broker: Broker) -> None:
        assert self.leader is not None
        partition = broker.led
        state = LeaderAndIsr(self.leader, self.epoch, self.isr, self.partition_epoch, tuple(self.brokers))
        if broker.id == self.leader:
            broker.following = None
            partition.become_leader(state, self.now_ms)
        elif partition.become_follower(state):
            broker.following = Following(broker.id, self.settings, ReplicationThrottle(VirtualClock()))
            broker.following.add(KEY, TOPIC_ID, self.epoch, broker.log)

    # -- the partition's part

    def write(self, value: str) -> int:
        """Append a record at the leader; the offset that is to be replicated."""
        assert self.leader is not None
        leader = self.brokers[self.leader]
        leader.log.write(self.epoch, value)
        leader.led.advance_high_watermark(self.now_ms)
        return leader.log.log_end_offset

    def fetch(self, broker_id: int, *, lose_answer: bool = False) -> None:
        """One round of a follower's fetcher."""
        following = self.brokers[broker_id].following
        assert following is not None, "it does not follow"
        self.now_ms += 1
        self._truncate_by_epoch(following)
        request = following.next_fetch(self.now_ms, broker_epoch=-1)
        if request is None:
            return
        answers = [
            self._answer(broker_id, asked, is_on_fetch=following.truncates_on_fetch)
            for topic in request.topics
            for asked in topic.partitions
        ]
        if lose_answer:
            following.unanswered()
            return
        topics = [FetchableTopicResponse(topic=KEY[0], partitions=answers)]
        for partition, data in following.hear(FetchResponse(responses=topics)):
            following.take(partition, data, self.now_ms)
        self._find_again(following)

    def _answer(self, broker_id: int, asked: FetchPartition, *, is_on_fetch: bool) -> PartitionData:
        assert self.leader is not None
        leader = self.brokers[self.leader]
        try:
            log = leader.led.require_log(asked.current_leader_epoch)
            if is_on_fetch and asked.last_fetched_epoch >= 0:
                end = leader.led.diverging_epoch(
                    asked.current_leader_epoch, asked.last_fetched_epoch, asked.fetch_offset
                )
                if end is not None:
                    diverging = EpochEndOffset(epoch=end.epoch, end_offset=end.end_offset)
                    return PartitionData(diverging_epoch=diverging, high_watermark=log.high_watermark)
            records = log.read(asked.fetch_offset, READ_MAX)
            moved = leader.led.note_follower_fetch(broker_id, asked.fetch_offset, asked.log_start_offset, self.now_ms)
            if moved.proposal is not None:
                self.isr = moved.proposal.isr
                self.partition_epoch += 1
                leader.led.on_isr_accepted(moved.proposal, self.epoch, self.isr, self.partition_epoch, self.now_ms)
        except ApiError as error:
            return PartitionData(error_code=error.code)
        return PartitionData(
            records=memoryview(records), high_watermark=log.high_watermark, log_start_offset=log.log_start_offset
        )

    def _truncate_by_epoch(self, following: Following) -> None:
        for _ in range(self.epoch + 1):  # each question is about a smaller epoch
            for partition in following.truncating():
                assert self.leader is not None
                end = self.brokers[self.leader].led.end_offset_for_epoch(partition.last_fetched_epoch)
                following.hear_epoch_end(partition, end, self.now_ms)
        assert not following.truncating()

    def _find_again(self, following: Following) -> None:
        for partition in following.lost():
            assert self.leader is not None
            log = self.brokers[self.leader].log
            following.hear_offsets(partition, log.log_start_offset, log.log_end_offset, self.now_ms)

    def write_high_watermarks(self) -> None:
        for broker in self.brokers.values():
            if broker.is_running:
                broker.written_high_watermark = broker.log.high_watermark
