"""The task that keeps a client's knowledge fresh.

It sleeps until the knowledge is too old or somebody asks. After a refresh the next one is at least a backoff away, and
further with each failure in a row; a topic that is new to the client is asked for at once, unless the last attempt
failed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from moldau.base.errors import ApiError, MoldauError
from moldau.clients.errors import ClientClosed, TimedOut, check
from moldau.clients.network.metadata import ClusterMetadata
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

if TYPE_CHECKING:
    from moldau.clients.network.cluster import Cluster

logger = logging.getLogger(__name__)

# Before this version a request cannot say that topics are not to be created.
_MAY_FORBID_CREATION = 4


class MetadataRefresher:
    """Owner of the snapshot."""

    def __init__(self, cluster: Cluster, max_age_ms: int, allow_auto_topic_creation: bool) -> None:
        self.metadata = ClusterMetadata()
        self.callbacks: list[Callable[[ClusterMetadata], None]] = []
        self._cluster = cluster
        self._max_age_ms = max_age_ms
        self._allow_auto_topic_creation = allow_auto_topic_creation
        self._topics: dict[str, None] = {}
        self._all = False
        self._wanted = asyncio.Event()
        self._waiters: list[asyncio.Future[ClusterMetadata]] = []
        self._under_way: list[asyncio.Future[ClusterMetadata]] = []
        self._asked: frozenset[str] = frozenset()
        self._started = False
        self._urgent = False
        self._attempts = 0
        self._failures = 0
        self._last_attempt_ms = float("-inf")
        self._last_failure = ""

    def add_topics(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self._topics:
                self._topics[name] = None
                known = self.metadata.topics.get(name)
                if known is None or known.error:
                    self._urgent = True

    def forget_unknown(self, name: str) -> None:
        """Nobody waits for a topic any more that is not there: who asks for it again asks for it as a new one."""
        self._topics.pop(name, None)

    def set_topics(self, names: Iterable[str]) -> None:
        wanted = dict.fromkeys(names)
        if wanted.keys() - self._topics.keys():
            self._urgent = True
        self._topics = wanted

    def watch_all(self, wanted: bool) -> None:
        self._urgent |= wanted and not self._all
        self._all = wanted

    def request(self) -> None:
        if not self._started:
            self._started = True
            self._cluster.start_refreshing(self._keep_fresh)
        self._wanted.set()

    async def next_refresh(self, timeout_ms: float, topic: str | None = None) -> ClusterMetadata:
        """What a refresh brings that begins from now on; for a `topic` that was not known, one that asks for it now."""
        waiter: asyncio.Future[ClusterMetadata] = asyncio.get_running_loop().create_future()
        if topic in self._asked and topic not in self.metadata.topics:
            self._under_way.append(waiter)  # else it would wait for a backoff, and then ask the same again
        else:
            self._waiters.append(waiter)
            self.request()
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await waiter
        except TimeoutError:
            last = f"; last: {self._last_failure}" if self._last_failure else ""
            raise TimedOut(f"no broker told its metadata within {timeout_ms:.0f} ms{last}") from None
        finally:
            for waiters in (self._waiters, self._under_way):
                if waiter in waiters:
                    waiters.remove(waiter)

    @property
    def is_failing(self) -> bool:
        """Whether the last attempt brought no answer."""
        return self._failures > 0

    def learn(self, metadata: ClusterMetadata) -> None:
        """Take a snapshot that follows from an answer to something else."""
        self.metadata = metadata
        self._tell()

    def close(self) -> None:
        self._started = True
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(ClientClosed("the client was closed while it waited for metadata"))
        self._waiters.clear()

    async def _keep_fresh(self) -> None:
        while True:
            await self._due()
            self._wanted.clear()
            self._urgent = False
            self._last_attempt_ms = self._cluster.clock.monotonic_ms()
            self._under_way, self._waiters = self._waiters, []
            try:
                await self._refresh()
            except MoldauError as error:
                self._failed(error, self._no_longer_under_way())
            except asyncio.CancelledError:
                self._waiters += self._no_longer_under_way()
                raise
            else:
                waiters = self._no_longer_under_way()
                self._failures = 0
                self._last_failure = ""
                for waiter in waiters:
                    if not waiter.done():
                        waiter.set_result(self.metadata)
                # Leaders that are missing now will be there soon, and somebody may be waiting for them.
                self._attempts = self._attempts + 1 if self.metadata.leaderless else 0
                if self.metadata.leaderless:
                    self._wanted.set()

    def _no_longer_under_way(self) -> list[asyncio.Future[ClusterMetadata]]:
        waiters, self._under_way, self._asked = self._under_way, [], frozenset()
        return waiters

    async def _due(self) -> None:
        """Wait until somebody wants a refresh or the age is reached, and the backoff has passed."""
        clock = self._cluster.clock
        if not self._wanted.is_set():
            try:
                async with asyncio.timeout(self._max_age_ms / 1000):
                    await self._wanted.wait()
            except TimeoutError:
                return
        while not (self._urgent and not self._failures):
            retries = self._failures or max(0, self._attempts - 1)
            pause_ms = self._cluster.backoff.delay_ms(max(0, retries - 1) if self._failures else retries)
            left_ms = self._last_attempt_ms + pause_ms - clock.monotonic_ms()
            if left_ms <= 0:
                return
            # In slices, so that a new topic does not wait for the rest of a long pause.
            await asyncio.sleep(min(left_ms, 10.0) / 1000)

    async def _refresh(self) -> None:
        asked = [*self._topics]
        self._asked = frozenset(asked)
        everything = self._all
        names = None if everything else [MetadataRequestTopic(name=name) for name in asked]
        connection = await self._cluster.any_connection()
        version = connection.version_of(MetadataRequest)
        allowed = self._allow_auto_topic_creation or version < _MAY_FORBID_CREATION
        answer = await connection.request(
            MetadataRequest(topics=names, allow_auto_topic_creation=allowed),
            version,
            timeout_ms=self._cluster.request_timeout_ms,
        )
        assert isinstance(answer, MetadataResponse)
        check(answer.error_code)
        # What was added while the answer was on its way is not in it.
        kept = () if everything else [name for name in self._topics if name not in asked]
        self.metadata = self.metadata.with_answer(answer, kept)
        self._cluster.nodes_changed()
        self._tell()

    def _failed(self, error: MoldauError, waiters: list[asyncio.Future[ClusterMetadata]]) -> None:
        self._failures += 1
        self._last_failure = str(error)
        log = logger.warning if self._failures == 1 else logger.debug
        log("%s cannot refresh its metadata: %s", self._cluster.client_id, error)
        final = isinstance(error, ApiError) and not error.code.retriable
        for waiter in waiters:
            if final and not waiter.done():
                waiter.set_exception(error)
        if not final:
            self._waiters = waiters + self._waiters  # they wait for the next attempt, as long as they like
        self._wanted.set()

    def _tell(self) -> None:
        for callback in self.callbacks:
            callback(self.metadata)
