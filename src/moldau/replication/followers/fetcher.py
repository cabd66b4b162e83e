"""A fetcher: asks one leader, again and again, for what is new in its share of the partitions.

One request is in flight. It is parked at the leader until there is something to tell, so an append there is answered
here at once; the next request says that the records have arrived, and so moves the leader's high watermark. Records go
from the socket's buffer to the log without a copy. A long answer is taken in pieces, and others have their turn.

A request that is parked knows nothing of partitions that came after it, and they would wait for as long as it does
(`replica.fetch.wait.max.ms`): a new topic, or all topics of a leader that is gone. So it is given up, with its
connection, if it is not answered soon. The next one says everything anew, so this is not done again and again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple, Protocol

from moldau.base.clock import Clock
from moldau.base.errors import ApiError, ConnectFailed, Disconnected
from moldau.net.channel import Channel
from moldau.net.client import ClientConnection
from moldau.net.client_options import ClientOptions
from moldau.protocol.messages.fetch import FetchRequest, FetchResponse
from moldau.replication.followers.following import Following
from moldau.replication.followers.leader_questions import ask_epoch_ends, ask_offsets
from moldau.replication.followers.local_replica import DiskDuties
from moldau.replication.followers.settings import FollowerSettings

logger = logging.getLogger(__name__)

PIECE_BYTES = 1 << 20
FIRST_RETRY_MS = 50
THROTTLED_WAIT_MS = 100
HURRY_MS = 15
HURRY_AGAIN_MS = 100
HURRY_AGAIN_MS_FOR_EACH = 0.5  # partition: five times what it takes to ask for it anew
TIMEOUT_MARGIN_MS = 5_000


class LeaderPlace(Protocol):
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...


class FollowerSurroundings(NamedTuple):
    """What fetchers need of their broker."""

    broker_id: int
    broker_epoch: Callable[[], int]
    place_of: Callable[[int], LeaderPlace | None]
    """Where a broker is reached by brokers; None if it is not alive."""
    clock: Clock


class Fetcher:
    """Runs as long as it has partitions; their replicas say in `duties` what has to be on the disk."""

    def __init__(
        self,
        leader: int,
        following: Following,
        duties: DiskDuties,
        settings: FollowerSettings,
        options: ClientOptions,
        surroundings: FollowerSurroundings,
    ) -> None:
        self.leader = leader
        self.following = following
        self.duties = duties
        self._settings = settings
        self._options = options
        self._surroundings = surroundings
        self._channel: Channel | None = None
        self._connection: ClientConnection | None = None
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._answer: asyncio.Future[FetchResponse] | None = None
        self._hurrying: asyncio.TimerHandle | None = None
        self._hurried_ms = float("-inf")
        self._is_given_up = False
        self._failures = 0

    def wake(self) -> None:
        """Partitions have gone."""
        self._news.set()

    def hurry(self) -> None:
        """Partitions have come."""
        self._news.set()
        if self._answer is not None and self._hurrying is None:
            self._hurrying = self._loop.call_later(HURRY_MS / 1000, self._give_up, self._answer)

    def _give_up(self, answer: asyncio.Future[FetchResponse]) -> None:
        self._hurrying = None
        now_ms = self._surroundings.clock.monotonic_ms()
        again_ms = HURRY_AGAIN_MS + HURRY_AGAIN_MS_FOR_EACH * len(self.following.partitions)
        if self._answer is answer and now_ms - self._hurried_ms >= again_ms:
            self._hurried_ms = now_ms
            self._is_given_up = True
            self.close()

    async def run(self) -> None:
        """Until no partition is left."""
        try:
            while self.following.partitions:
                try:
                    await self._round()
                    self._failures = 0
                except Disconnected as error:
                    self.following.unanswered()
                    was_given_up, self._is_given_up = self._is_given_up, False
                    if self.following.partitions and not was_given_up:
                        await self._retry_later(error)
        finally:
            self.close()

    def close(self) -> None:
        if self._hurrying is not None:
            self._hurrying.cancel()
            self._hurrying = None
        if self._channel is not None:
            self._channel.close()
            self._channel = self._connection = None

    async def _round(self) -> None:
        following, clock = self.following, self._surroundings.clock
        self._news.clear()
        connection = self._connection
        if connection is None or connection.closed is not None:
            connection = await self._connect()
        if self.duties.truncated or self.duties.unflushed:
            await self.duties.carry_out()
        if truncating := following.truncating():
            await ask_epoch_ends(connection, following, truncating, self._surroundings.broker_id, clock)
            await self.duties.carry_out()
        request = following.next_fetch(clock.monotonic_ms(), self._surroundings.broker_epoch())
        if request is None:
            await self._wait()
            return
        await self._fetch(connection, request)
        if lost := following.lost():
            await ask_offsets(connection, following, lost, self._surroundings.broker_id, clock)

    async def _fetch(self, connection: ClientConnection, request: FetchRequest) -> None:
        following, monotonic_ms = self.following, self._surroundings.clock.monotonic_ms
        timeout_ms = max(self._settings.socket_timeout_ms, request.max_wait_ms + TIMEOUT_MARGIN_MS)
        try:
            self._answer = connection.send(request, following.version_to_use, timeout_ms=timeout_ms)
            response = await self._answer
        except ApiError as error:
            raise ConnectFailed(str(error)) from error
        finally:
            self._answer = None
        size_bytes = 0
        for partition, data in following.hear(response):
            if size_bytes > PIECE_BYTES:
                size_bytes = 0
                await asyncio.sleep(0)
                if not following.stands(partition):
                    continue
            following.take(partition, data, monotonic_ms())
            size_bytes += len(data.records or b"")

    async def _connect(self) -> ClientConnection:
        place = self._surroundings.place_of(self.leader)
        if place is None:
            raise ConnectFailed(f"broker {self.leader} is not known to be alive")
        channel = self._channel
        if channel is not None and (channel.host, channel.port) != (place.host, place.port):
            channel.close()
            channel = None
        if channel is None:
            channel = self._channel = Channel(place.host, place.port, self._options)
        connection = await channel.connection()
        self._connection = connection
        self.following.connected(connection.version_of(FetchRequest))
        return connection

    async def _wait(self) -> None:
        """There is nothing to ask for: until a delay is over, or partitions come."""
        wait_ms = self.following.next_delay_ms(self._surroundings.clock.monotonic_ms())
        if self.following.is_throttled:
            wait_ms = min(THROTTLED_WAIT_MS, THROTTLED_WAIT_MS if wait_ms is None else wait_ms)
        try:
            async with asyncio.timeout(None if wait_ms is None else wait_ms / 1000):
                await self._news.wait()
        except TimeoutError:
            return

    async def _retry_later(self, error: Disconnected) -> None:
        delay_ms = min(FIRST_RETRY_MS << min(self._failures, 16), self._settings.fetch_backoff_ms)
        level = logging.WARNING if not self._failures else logging.DEBUG
        logger.log(level, "broker %d cannot be fetched from: %s", self.leader, error)
        self._failures += 1
        await asyncio.sleep(delay_ms / 1000)
