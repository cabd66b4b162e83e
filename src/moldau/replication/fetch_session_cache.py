"""All fetch sessions of a broker: a bounded number, and rules for who must go (KIP-227).

There are `max.incremental.fetch.session.cache.slots`. When they are taken, a new session gets one only if

1. the session that was unused for longest has been so for more than 120 s, or
2. the least valuable session that may be evicted is worth less. A follower's is worth more than a client's, then more
   partitions are worth more. Everybody may evict a session older than 120 s; a follower may evict any client's.

Otherwise the client gets no session, and asks for everything again: slower, and as correct. The rule that young
sessions are safe from their like keeps two clients from evicting each other in turn.

The two orders of value are sorted lists of at most the number of slots; they change when a session is made, comes of
age or changes its size, and not with every fetch. The order of use is that of the dict.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping
from random import Random

from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.fetch import FetchRequest
from moldau.replication.fetch_session import (
    EPOCH_MAX,
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION_ID,
    TOPIC_IDS_VERSION,
    FetchContext,
    FetchSession,
    FullFetchContext,
    IncrementalFetchContext,
    PartitionKey,
    RequestedPartition,
    SessionErrorContext,
    next_epoch,
    requested_partitions,
)

EVICTION_MS = 120_000

_Value = tuple[bool, int, int]  # privileged, number of partitions, id


class _Standing:
    """Under which values a session is in the cache's lists; what it was at its last use."""

    __slots__ = ("by_all", "by_privileged", "value")

    def __init__(self, value: _Value) -> None:
        self.value = value
        self.by_all = False
        self.by_privileged = False


class FetchSessionCache:
    """`evictions` counts, ever; `len()` is the number of sessions, `partitions_count` that of all their partitions."""

    def __init__(self, slots_max: int, random: Random, eviction_ms: int = EVICTION_MS) -> None:
        self.slots_max = slots_max
        self.evictions = 0
        self.partitions_count = 0
        self._random = random
        self._eviction_ms = eviction_ms
        self._sessions: dict[int, FetchSession] = {}  # by id, the one unused for longest first
        self._standings: dict[int, _Standing] = {}
        self._evictable_by_all: list[_Value] = []
        self._evictable_by_privileged: list[_Value] = []

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, session_id: int) -> FetchSession | None:
        return self._sessions.get(session_id)

    def create(
        self,
        partitions: dict[PartitionKey, RequestedPartition],
        *,
        is_privileged: bool,
        uses_topic_ids: bool,
        now_ms: float,
    ) -> int:
        """The id of a new session, or 0 if there is no room."""
        if len(self._sessions) >= self.slots_max and not self._evict(is_privileged, len(partitions), now_ms):
            return NO_SESSION_ID
        session_id = self._new_id()
        session = FetchSession(
            session_id, partitions, is_privileged=is_privileged, uses_topic_ids=uses_topic_ids, now_ms=now_ms
        )
        self._standings[session_id] = _Standing((is_privileged, len(partitions), session_id))
        self._sessions[session_id] = session
        self.partitions_count += len(partitions)
        self.touch(session, now_ms)
        return session_id

    def touch(self, session: FetchSession, now_ms: float) -> None:
        """The session was used; it may have another size since."""
        session.used_ms = now_ms
        self._sessions[session.id] = self._sessions.pop(session.id)
        standing = self._standings[session.id]
        size = len(session.partitions)
        if size != standing.value[1]:
            self._withdraw(standing)
            self.partitions_count += size - standing.value[1]
            standing.value = (session.is_privileged, size, session.id)
        is_old = now_ms - session.created_ms > self._eviction_ms
        if is_old and not standing.by_all:
            standing.by_all = True
            insort(self._evictable_by_all, standing.value)
        if not standing.by_privileged and (is_old or not session.is_privileged):
            standing.by_privileged = True
            insort(self._evictable_by_privileged, standing.value)

    def remove(self, session_id: int) -> bool:
        session = self._sessions.pop(session_id, None)
        if session is None:
            return False
        standing = self._standings.pop(session_id)
        self._withdraw(standing)
        self.partitions_count -= standing.value[1]
        if session.watch is not None:
            session.watch.close()
        return True

    def _withdraw(self, standing: _Standing) -> None:
        if standing.by_all:
            del self._evictable_by_all[bisect_left(self._evictable_by_all, standing.value)]
        if standing.by_privileged:
            del self._evictable_by_privileged[bisect_left(self._evictable_by_privileged, standing.value)]
        standing.by_all = standing.by_privileged = False

    def _evict(self, is_privileged: bool, size: int, now_ms: float) -> bool:
        """Make room for a session of this value, if it may have it."""
        if not self._sessions:
            return False
        stalest = next(iter(self._sessions.values()))
        if now_ms - stalest.used_ms > self._eviction_ms:
            evicted_id = stalest.id
        else:
            evictable = self._evictable_by_privileged if is_privileged else self._evictable_by_all
            if not evictable or (is_privileged, size, NO_SESSION_ID) < evictable[0]:
                return False
            evicted_id = evictable[0][2]
        self.evictions += 1
        return self.remove(evicted_id)

    def _new_id(self) -> int:
        """A random one, so that a client cannot hit upon another's; free ones abound."""
        session_id = NO_SESSION_ID
        while session_id == NO_SESSION_ID or session_id in self._sessions:
            session_id = self._random.randint(1, EPOCH_MAX)
        return session_id


class FetchSessions:
    """Finds for each fetch request what it is about."""

    def __init__(self, cache: FetchSessionCache) -> None:
        self.cache = cache

    def context(
        self,
        request: FetchRequest,
        version: int,
        topic_names: Mapping[bytes, str],
        *,
        is_follower: bool,
        now_ms: float,
    ) -> FetchContext:
        session_id, epoch = request.session_id, request.session_epoch
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if session_id != NO_SESSION_ID:
                self.cache.remove(session_id)
            uses_topic_ids = version >= TOPIC_IDS_VERSION
            partitions = requested_partitions(request, topic_names, uses_topic_ids=uses_topic_ids)
            if epoch == FINAL_EPOCH:
                return FetchContext(partitions)
            return FullFetchContext(partitions, self.cache, is_follower=is_follower, uses_topic_ids=uses_topic_ids)
        return self._incremental(request, version, topic_names, now_ms)

    def _incremental(
        self, request: FetchRequest, version: int, topic_names: Mapping[bytes, str], now_ms: float
    ) -> FetchContext:
        session = self.cache.get(request.session_id)
        if session is None:
            return SessionErrorContext(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            return SessionErrorContext(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != (version >= TOPIC_IDS_VERSION):
            return SessionErrorContext(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        if request.topics or request.forgotten_topics_data:
            session.update(request, topic_names)
        session.epoch = next_epoch(session.epoch)
        if not session.partitions:
            self.cache.remove(session.id)
            return FetchContext({})
        self.cache.touch(session, now_ms)
        return IncrementalFetchContext(session)
