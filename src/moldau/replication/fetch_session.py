"""Incremental fetches (KIP-227): a client names its partitions once, and then only what changes about them.

    request (id, epoch)      means
    (0, 0)                   everything is listed; make a session of it (the answer has its id, or 0 if there is none)
    (0, -1)                  everything is listed; no session
    (id, n)                  listed are partitions that are new or asked differently, and those to forget; n is one
                             more than in the request before (after 2^31 - 1 comes 1)
    (id, 0), (id, -1)        close the session, and then as above

The answer to an incremental fetch lists a partition only if it has something to tell: records, an error, another high
watermark, last stable offset or log start than it told last, a better replica to read from, a diverging epoch. A
partition with an error is told again when the error is gone. A partition that had records goes to the end of the
session, so that with answers of limited size every partition has its turn.

Each request gets a context, which says what to read and makes the answer of what was read. The context of an
incremental fetch is a view of the session: it copies nothing, whatever the number of partitions. An epoch is used up
by the request; should another one come in before the answer is made, the answer is INVALID_FETCH_SESSION_EPOCH.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol

from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

if TYPE_CHECKING:
    from moldau.replication.fetch_session_cache import FetchSessionCache

NO_SESSION_ID = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
EPOCH_MAX = 2**31 - 1
TOPIC_IDS_VERSION = 13  # of Fetch: from here on topics go by id
NEVER_TOLD = -1

PartitionKey = tuple[str | bytes, int]  # topic name or topic id, and partition


def next_epoch(epoch: int) -> int:
    if epoch < 0:
        return FINAL_EPOCH
    return 1 if epoch == EPOCH_MAX else epoch + 1


class RequestedPartition:
    """A partition as it was asked for last, and, in a session, what was told of it last.

    `topic` is None as long as no topic with the id is known; the answer for it is UNKNOWN_TOPIC_ID.
    """

    __slots__ = (
        "has_error",
        "high_watermark",
        "key",
        "last_stable_offset",
        "log_start_offset",
        "request",
        "topic",
        "topic_id",
    )

    def __init__(self, key: PartitionKey, topic: str | None, topic_id: bytes, request: FetchPartition) -> None:
        self.key = key
        self.topic = topic
        self.topic_id = topic_id
        self.request = request
        self.has_error = False
        self.high_watermark = self.last_stable_offset = self.log_start_offset = NEVER_TOLD

    def resolve(self, topic_names: Mapping[bytes, str]) -> str | None:
        """The topic's name, which may have become known since the session began."""
        if self.topic is None:
            self.topic = topic_names.get(self.topic_id)
        return self.topic

    def has_moved(self, high_watermark: int, last_stable_offset: int, log_start_offset: int) -> bool:
        """Whether these are other offsets than those told last.

        If not, and there is nothing else to tell, the result may be left out before it is even made.
        """
        return (
            high_watermark != self.high_watermark
            or last_stable_offset != self.last_stable_offset
            or log_start_offset != self.log_start_offset
        )

    def note_told(self, data: PartitionData) -> bool:
        """Remember what an answer tells; whether it tells anything."""
        moved = self.has_moved(data.high_watermark, data.last_stable_offset, data.log_start_offset)
        if moved:
            self.high_watermark = data.high_watermark
            self.last_stable_offset = data.last_stable_offset
            self.log_start_offset = data.log_start_offset
        self.has_error = data.error_code != 0
        if self.has_error:
            self.high_watermark = NEVER_TOLD  # so that the end of the error is told
            return True
        return moved or bool(data.records) or data.preferred_read_replica >= 0 or data.diverging_epoch is not None


Result = tuple[RequestedPartition, PartitionData]


class SessionWatch(Protocol):
    """Who knows which partitions of a session are worth a look."""

    attention: dict[PartitionKey, RequestedPartition]

    def look_at(self, requested: RequestedPartition) -> None: ...
    def forget(self, requested: RequestedPartition) -> None: ...
    def close(self) -> None: ...


class FetchSession:
    """What the server remembers of one client's partitions, in the order in which to read them."""

    __slots__ = ("created_ms", "epoch", "id", "is_privileged", "partitions", "used_ms", "uses_topic_ids", "watch")

    def __init__(
        self,
        session_id: int,
        partitions: dict[PartitionKey, RequestedPartition],
        *,
        is_privileged: bool,
        uses_topic_ids: bool,
        now_ms: float,
    ) -> None:
        self.id = session_id
        self.partitions = partitions
        self.is_privileged = is_privileged  # a follower's
        self.uses_topic_ids = uses_topic_ids
        self.created_ms = self.used_ms = now_ms
        self.epoch = next_epoch(INITIAL_EPOCH)  # what the next request must have
        self.watch: SessionWatch | None = None

    def update(self, request: FetchRequest, topic_names: Mapping[bytes, str]) -> None:
        """Take over what an incremental request adds, changes and forgets."""
        partitions = self.partitions
        asked_partitions = requested_partitions(request, topic_names, uses_topic_ids=self.uses_topic_ids)
        for key, asked in asked_partitions.items():
            known = partitions.setdefault(key, asked)
            known.request = asked.request
            if self.watch is not None:
                self.watch.look_at(known)
        for forgotten in request.forgotten_topics_data:
            name = forgotten.topic_id if self.uses_topic_ids else forgotten.topic
            for partition in forgotten.partitions:
                left = partitions.pop((name, partition), None)
                if left is not None and self.watch is not None:
                    self.watch.forget(left)


def requested_partitions(
    request: FetchRequest, topic_names: Mapping[bytes, str], *, uses_topic_ids: bool
) -> dict[PartitionKey, RequestedPartition]:
    """The partitions that a request lists; of one that is listed twice the last counts."""
    partitions: dict[PartitionKey, RequestedPartition] = {}
    for topic in request.topics:
        topic_id = topic.topic_id
        name = topic_names.get(topic_id) if uses_topic_ids else topic.topic
        for partition in topic.partitions:
            key = topic_id if uses_topic_ids else topic.topic, partition.partition
            partitions[key] = RequestedPartition(key, name, topic_id, partition)
    return partitions


class FetchContext:
    """A request that lists everything and wants no session."""

    __slots__ = ("_partitions",)

    def __init__(self, partitions: dict[PartitionKey, RequestedPartition]) -> None:
        self._partitions = partitions

    @property
    def error(self) -> ErrorCode:
        """Anything but NONE: there is nothing to read, and `respond` answers with it."""
        return ErrorCode.NONE

    @property
    def session(self) -> FetchSession | None:
        """The session that this is a request of."""
        return None

    def partitions(self) -> Collection[RequestedPartition]:
        """What to read, in this order."""
        return self._partitions.values()

    def respond(self, results: Iterable[Result], now_ms: float) -> FetchResponse:  # noqa: ARG002
        """The answer, once, made of what was read."""
        return FetchResponse(session_id=NO_SESSION_ID, responses=by_topic(results))

    def throttled(self, throttle_time_ms: int) -> FetchResponse:
        """An answer without data: the client is over its quota and asks again later."""
        return FetchResponse(throttle_time_ms=throttle_time_ms, session_id=NO_SESSION_ID)


class SessionErrorContext(FetchContext):
    """A request for a session that does not exist, or not in this state."""

    __slots__ = ("_error",)

    def __init__(self, error: ErrorCode) -> None:
        super().__init__({})
        self._error = error

    @property
    def error(self) -> ErrorCode:
        return self._error

    def respond(self, results: Iterable[Result], now_ms: float) -> FetchResponse:  # noqa: ARG002
        return FetchResponse(error_code=self._error, session_id=NO_SESSION_ID)

    def throttled(self, throttle_time_ms: int) -> FetchResponse:
        return FetchResponse(throttle_time_ms=throttle_time_ms, error_code=self._error, session_id=NO_SESSION_ID)


class FullFetchContext(FetchContext):
    """A request that lists everything and becomes a session when it is answered, if there is room for one."""

    __slots__ = ("_cache", "_is_follower", "_uses_topic_ids")

    def __init__(
        self,
        partitions: dict[PartitionKey, RequestedPartition],
        cache: FetchSessionCache,
        *,
        is_follower: bool,
        uses_topic_ids: bool,
    ) -> None:
        super().__init__(partitions)
        self._cache = cache
        self._is_follower = is_follower
        self._uses_topic_ids = uses_topic_ids

    def respond(self, results: Iterable[Result], now_ms: float) -> FetchResponse:
        results = list(results)
        session_id = self._cache.create(
            self._partitions, is_privileged=self._is_follower, uses_topic_ids=self._uses_topic_ids, now_ms=now_ms
        )
        if session_id != NO_SESSION_ID:
            for requested, data in results:
                requested.note_told(data)
        return FetchResponse(session_id=session_id, responses=by_topic(results))


class IncrementalFetchContext(FetchContext):
    """A request of a session; reads all of the session's partitions and tells what is new."""

    __slots__ = ("_expected_epoch", "_session")

    def __init__(self, session: FetchSession) -> None:
        super().__init__(session.partitions)
        self._session = session
        self._expected_epoch = session.epoch

    @property
    def session(self) -> FetchSession:
        return self._session

    def partitions(self) -> Collection[RequestedPartition]:
        watch = self._session.watch
        return self._partitions.values() if watch is None else list(watch.attention.values())

    def respond(self, results: Iterable[Result], now_ms: float) -> FetchResponse:  # noqa: ARG002
        if self._session.epoch != self._expected_epoch:
            return self._overtaken()
        told = [result for result in results if result[0].note_told(result[1])]
        partitions = self._partitions
        watch = self._session.watch
        for requested, data in told:
            key = requested.key
            if data.records and key in partitions:
                partitions[key] = partitions.pop(key)
                if watch is not None and key in watch.attention:
                    watch.attention[key] = watch.attention.pop(key)
        return FetchResponse(session_id=self._session.id, responses=by_topic(told))

    def throttled(self, throttle_time_ms: int) -> FetchResponse:
        if self._session.epoch != self._expected_epoch:
            return self._overtaken(throttle_time_ms)
        return FetchResponse(throttle_time_ms=throttle_time_ms, session_id=self._session.id)

    def _overtaken(self, throttle_time_ms: int = 0) -> FetchResponse:
        return FetchResponse(
            throttle_time_ms=throttle_time_ms,
            error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH,
            session_id=self._session.id,
        )


def by_topic(results: Iterable[Result]) -> list[FetchableTopicResponse]:
    """Group what follows each other of one topic; the order of partitions is the order of reading (KIP-74)."""
    topics: list[FetchableTopicResponse] = []
    last: str | bytes | None = None
    for requested, data in results:
        name_or_id = requested.key[0]
        if name_or_id != last:
            last = name_or_id
            topics.append(FetchableTopicResponse(topic=requested.topic or "", topic_id=requested.topic_id))
        topics[-1].partitions.append(data)
    return topics
