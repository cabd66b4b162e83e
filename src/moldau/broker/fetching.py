"""One fetch on its way: read, wait if there is too little, read again, answer.

    find what there is ──► enough, an error, or no time to wait ──► read and answer
            │
            └────────────► parked (`DelayedFetch`) ──► touched or timed out ──► find anew, read and answer

Finding looks at indexes and headers only, so a fetch that has to wait reads no records. What is not in the page cache
is read by a thread, as are answers to old versions, whose records have to be converted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.supervision import OnFailure
from moldau.broker.call import Call
from moldau.broker.leaders import add_leader
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, PartitionData
from moldau.records.batch import Buffer
from moldau.records.convert import down_convert
from moldau.replication.delayed_fetch import DelayedFetch, FetchWait
from moldau.replication.fetch_session import FetchContext, RequestedPartition
from moldau.replication.follower_watch import FollowerWatch
from moldau.replication.reading import PartitionRead, Reading, bytes_between, data_of, find, refusal, send_elsewhere
from moldau.replication.replica_selectors import preferred_replica
from moldau.replication.replicas import LogPartition
from moldau.storage.log_directory import TopicPartition
from moldau.storage.segment import NotInCache

if TYPE_CHECKING:
    from moldau.broker.node import Node

CUT_VERSION_MAX = 2  # up to here a batch that is too large is cut, which tells the client to ask for more
LEADER_HINT_VERSION = 16
CONVERTED_VERSION_MAX = 3


class Follower(NamedTuple):
    """The broker that a fetch comes from, if it is not a client's."""

    broker_id: int
    broker_epoch: int


class Found(NamedTuple):
    """One partition of a fetch: what there is to read, or the error to tell."""

    requested: RequestedPartition
    read: PartitionRead | None
    error: ErrorCode = ErrorCode.NONE


class Fetch:
    """A fetch of one client or follower."""

    __slots__ = ("_bytes_max", "_call", "_context", "_follower", "_node", "_reading", "_request", "_watch")

    def __init__(
        self,
        node: Node,
        request: FetchRequest,
        call: Call,
        context: FetchContext,
        reading: Reading,
        follower: Follower | None,
        watch: FollowerWatch | None = None,
    ) -> None:
        self._node = node
        self._request = request
        self._call = call
        self._context = context
        self._reading = reading
        self._follower = follower
        self._watch = watch
        bytes_max = request.max_bytes
        self._bytes_max = bytes_max if follower else min(bytes_max, node.fetch_bytes_max)

    def start(self) -> FetchResponse | None:
        """The answer, or None if it comes later."""
        request = self._request
        try:
            found = self._find(self._reading)
        except NotInCache:
            self._answer_from_thread()
            return None
        if self._follower is not None:
            self._note_follower(found, self._follower)
        size_bytes = 0
        for one in found:
            if one.read is None or one.read.is_urgent:
                return self._answer(found)
            size_bytes += one.read.size_bytes
        if request.max_wait_ms <= 0 or size_bytes >= request.min_bytes or (not found and self._watch is None):
            return self._answer(found)
        self._park(found)
        return None

    # -- finding

    def _find(self, reading: Reading) -> list[Found]:
        left_bytes = self._bytes_max
        at_least_one = True
        is_follower = self._follower is not None
        can_be_sent_elsewhere = not is_follower and not reading.only_leader and self._node.replica_selector is not None
        found = []
        for requested in self._context.partitions():
            try:
                partition = self._partition(requested)
                elsewhere = self._preferred_replica(partition, requested) if can_be_sent_elsewhere else -1
                if elsewhere >= 0:
                    read = send_elsewhere(partition, requested.request, reading, elsewhere)
                elif is_follower and self._is_throttled(
                    partition, (requested.topic or "", requested.request.partition)
                ):
                    read = find(partition, requested.request, reading, 0, at_least_one=False)
                else:
                    read = find(partition, requested.request, reading, left_bytes, at_least_one=at_least_one)
            except ApiError as error:
                found.append(Found(requested, None, error.code))
                continue
            except OSError as error:
                found.append(Found(requested, None, self._failed(requested, error)))
                continue
            if read.slice is not None:
                left_bytes = max(left_bytes - read.slice.size_bytes, 0)
                at_least_one = self._call.version <= CUT_VERSION_MAX and left_bytes > 0
            found.append(Found(requested, read))
        return found

    def _partition(self, requested: RequestedPartition) -> LogPartition:
        replicas = self._node.replicas
        topic = requested.topic or requested.resolve(self._node.metadata.topic_names)
        if topic is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
        key = topic, requested.request.partition
        found = replicas.partitions.get(key) or replicas.partition(key)
        if isinstance(requested.key[0], bytes) and replicas.topic_ids.get(topic) != requested.topic_id:
            raise ApiError(ErrorCode.INCONSISTENT_TOPIC_ID)
        return found

    def _preferred_replica(self, partition: LogPartition, requested: RequestedPartition) -> int:
        """Which broker a consumer should rather read from (KIP-392); -1: this one."""
        selector, metadata = self._node.replica_selector, self._node.metadata
        if selector is None or not partition.is_leader:
            return -1
        listener = self._call.answer.connection.listener

        def rack_of(broker_id: int) -> str | None:
            broker = metadata.brokers[broker_id]
            if listener not in broker.endpoints:
                raise KeyError(broker_id)
            return broker.rack

        offset, now_ms = requested.request.fetch_offset, self._node.clock.monotonic_ms()
        return preferred_replica(partition, selector, self._request.rack_id, offset, rack_of, now_ms)

    def _is_throttled(self, partition: LogPartition, key: TopicPartition) -> bool:
        """Whether a follower that is not in sync has had too much of late (KIP-73)."""
        follower = self._follower
        if follower is None or follower.broker_id in partition.isr.committed:
            return False
        throttle = self._node.throttles.leader
        return throttle.is_throttled(key) and throttle.is_exceeded()

    def _failed(self, requested: RequestedPartition, error: OSError) -> ErrorCode:
        partition = self._partition(requested)
        if partition.log is not None:
            self._node.directories.failed(partition.log, error)
        return ErrorCode.KAFKA_STORAGE_ERROR

    def _note_follower(self, found: list[Found], follower: Follower) -> None:
        """A follower that reads from an offset has everything before it."""
        replicas = self._node.replicas
        now_ms = self._node.clock.monotonic_ms()
        for index, (requested, read, _) in enumerate(found):
            if read is None or read.diverging_epoch is not None:
                continue
            wanted = requested.request
            try:
                moved = self._partition(requested).note_follower_fetch(
                    follower.broker_id,
                    wanted.fetch_offset,
                    wanted.log_start_offset,
                    now_ms,
                    current_leader_epoch=wanted.current_leader_epoch,
                    broker_epoch=follower.broker_epoch,
                )
            except ApiError as error:
                found[index] = Found(requested, None, error.code)
            else:
                assert requested.topic is not None
                replicas.moved((requested.topic, wanted.partition), moved)

    # -- waiting

    def _park(self, found: list[Found]) -> None:
        request, replicas = self._request, self._node.replicas
        if self._watch is not None:
            self._call.park()
            self._watch.is_throttled = self._is_throttled
            self._watch.tells_high_watermark = self._node.replica_selector is not None
            self._watch.wait(self._end_of_wait, request.max_wait_ms, request.min_bytes)
            return
        waits: dict[Hashable, FetchWait] = {}
        for requested, _, _ in found:
            wanted = requested.request
            waits[requested.topic, wanted.partition] = FetchWait(
                wanted.fetch_offset,
                wanted.partition_max_bytes,
                wanted.current_leader_epoch,
                wanted.last_fetched_epoch,
            )
        delayed = DelayedFetch(
            request.max_wait_ms,
            request.min_bytes,
            waits,
            replicas.partition,  # type: ignore[arg-type]  # its keys are ours
            self._bytes_between,  # type: ignore[arg-type]
            self._end_of_wait,
            isolation=self._reading.isolation,
            only_leader=self._reading.only_leader,
        )
        self._call.park()
        replicas.fetches.try_complete_else_watch(delayed, waits.keys())

    def _bytes_between(self, key: tuple[str, int], start: int, end: int) -> int:
        partition = self._node.replicas.partition(key)
        if self._follower is not None and self._is_throttled(partition, key):
            return 0
        return bytes_between(partition, start, end, self._request.min_bytes)

    def _end_of_wait(self) -> None:
        try:
            response = self._answer(self._find(self._reading))
        except NotInCache:
            self._answer_from_thread()
        else:
            if response is not None:
                self._call.respond(response)

    # -- answering

    def _answer(self, found: list[Found]) -> FetchResponse | None:
        """Read what was found; None if a thread has to."""
        if self._call.version <= CONVERTED_VERSION_MAX:
            self._answer_from_thread()
            return None
        try:
            results = [(one.requested, data) for one in found if (data := self._read(one, self._reading)) is not None]
        except NotInCache:
            self._answer_from_thread()
            return None
        return self._respond(results)

    def _read(self, found: Found, reading: Reading) -> PartitionData | None:
        """What to tell of a partition; None if a session's client knows all of it."""
        requested, read, error = found
        wanted = requested.request
        if read is None:
            return refusal(wanted.partition, error)
        if read.slice is None:
            offsets = read.high_watermark, read.last_stable_offset, read.log_start_offset
            if not read.is_urgent and not requested.has_moved(*offsets):
                return None
            return data_of(wanted, read, None, reading)
        try:
            records = read.slice.read(wait=reading.wait)
            if self._call.version <= CONVERTED_VERSION_MAX:
                records = self._converted(records, wanted)
            return data_of(wanted, read, records, reading)
        except ApiError as refused:
            return refusal(wanted.partition, refused.code)
        except OSError as failure:
            return refusal(wanted.partition, self._failed(requested, failure))

    def _converted(self, records: Buffer, wanted: FetchPartition) -> Buffer:
        """For versions from before 0.11: the older formats, and a compression that they know (KIP-110)."""
        if not self._node.config.boolean("log.message.downconversion.enable"):
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION)
        version = self._call.version
        converted = down_convert(records, 0 if version <= 1 else 1, wanted.fetch_offset)
        return converted[: max(wanted.partition_max_bytes, 0)] if version <= CUT_VERSION_MAX else converted

    def _respond(self, results: list[tuple[RequestedPartition, PartitionData]]) -> FetchResponse:
        if self._follower is not None:
            self._count_throttled(results)
        response = self._context.respond(results, self._node.clock.monotonic_ms())
        if self._watch is not None:
            self._watch.settle()
        if self._call.version >= LEADER_HINT_VERSION:
            for topic in response.responses:
                for data in topic.partitions:
                    if data.error_code:
                        add_leader(self._node, self._call, response, topic.topic, data)
        return response

    def _count_throttled(self, results: list[tuple[RequestedPartition, PartitionData]]) -> None:
        throttle = self._node.throttles.leader
        for requested, data in results:
            if data.records and throttle.is_throttled((requested.topic or "", data.partition_index)):
                throttle.record(len(data.records))

    def _answer_from_thread(self) -> None:
        self._call.park()
        self._node.supervisor.start("fetch from disk", self._read_in_thread, OnFailure.LOG)

    async def _read_in_thread(self) -> None:
        reading = self._reading._replace(wait=True)

        def read() -> tuple[list[Found], list[tuple[RequestedPartition, PartitionData]]]:
            found = self._find(reading)
            return found, [(one.requested, data) for one in found if (data := self._read(one, reading)) is not None]

        found, results = await asyncio.get_running_loop().run_in_executor(self._node.readers, read)
        if self._follower is not None:
            self._note_follower(found, self._follower)
        self._call.respond(self._respond(results))
