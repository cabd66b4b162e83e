"""How the controller's requests reach the brokers: one queue a broker, one request in flight, in order.

A request is sent until it is answered. If the connection breaks it is sent again on the next one, since nobody knows
whether the broker obeyed; brokers therefore obey twice without harm, by the epochs in the requests. It ends when the
broker is gone from /brokers/ids or the controller resigns: then its channel is closed and what waits is forgotten.

Whoever loses a connection looks at once whether the broker is still there. Where nobody listens any more the process
has ended, which the controller is told (`on_gone`): it need not wait until the session of the broker has timed out. If
somebody listens again after all, it is told that, too (`on_back`).

The queue is bounded. A broker that lives but has not obeyed for so long is told everything anew, as if it had come
back; that is for the controller to do, who learns of it from `send`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from moldau.base.errors import ApiError, ConnectRefused, Disconnected
from moldau.base.supervision import OnFailure, Supervisor
from moldau.cluster.znodes.brokers import Endpoint
from moldau.net.channel import Channel
from moldau.net.client_options import ClientOptions
from moldau.protocol.api import ApiKey
from moldau.protocol.schema import Message

logger = logging.getLogger(__name__)

QUEUED_REQUESTS_MAX = 10_000
RETRY_BACKOFF_MS = 100

OnResponse = Callable[[Any], None]
"""Called with the response message."""
OnPresence = Callable[[int], None]
"""Called with the id of a broker."""


def _nobody_asked(_broker_id: int) -> None:
    """There is no term."""


class BrokerChannels(Protocol):
    """The seam between the controller and the network."""

    on_gone: OnPresence
    """Called when nobody listens any more where a broker was."""
    on_back: OnPresence
    """Called when somebody listens there again, under the same registration."""

    def open(self, broker_id: int, endpoint: Endpoint) -> None:
        """A broker came, and can be sent to from now on; or it moved, and is sent to at another place."""
        ...

    def close(self, broker_id: int) -> None:
        """A broker is gone; what it was not told yet is forgotten."""
        ...

    def close_all(self) -> None: ...

    def send(self, broker_id: int, request: Message, on_response: OnResponse) -> bool:
        """Queue a request; False if the queue is full and was emptied. To a broker without a channel nothing goes."""
        ...


class NetworkBrokerChannels:
    """The brokers over their own listeners, also the one that this controller runs on."""

    def __init__(self, supervisor: Supervisor, options: ClientOptions | None = None) -> None:
        self.supervisor = supervisor
        self.options = options or ClientOptions()
        self._links: dict[int, _Link] = {}
        self.on_gone: OnPresence = _nobody_asked
        self.on_back: OnPresence = _nobody_asked

    def open(self, broker_id: int, endpoint: Endpoint) -> None:
        link = self._links.get(broker_id)
        if link is not None:
            link.redirect(endpoint)
            return
        link = self._links[broker_id] = _Link(broker_id, endpoint, self)
        link.task = self.supervisor.start(f"controller to broker {broker_id}", link.run, OnFailure.RESTART)

    def close(self, broker_id: int) -> None:
        link = self._links.pop(broker_id, None)
        if link is not None:
            link.close()

    def close_all(self) -> None:
        self.on_gone = self.on_back = _nobody_asked
        for broker_id in list(self._links):
            self.close(broker_id)

    def send(self, broker_id: int, request: Message, on_response: OnResponse) -> bool:
        link = self._links.get(broker_id)
        return link is None or link.put(request, on_response)


class _Link:
    def __init__(self, broker_id: int, endpoint: Endpoint, channels: NetworkBrokerChannels) -> None:
        self._broker_id = broker_id
        self._channels = channels
        self._channel = self._channel_to(endpoint)
        self._was_reached = False
        self._is_gone = False
        self._queue: deque[tuple[Message, OnResponse]] = deque()
        self._filled = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def put(self, request: Message, on_response: OnResponse) -> bool:
        if len(self._queue) >= QUEUED_REQUESTS_MAX:
            self._queue.clear()
            return False
        self._queue.append((request, on_response))
        self._filled.set()
        return True

    def redirect(self, endpoint: Endpoint) -> None:
        """What is in flight on the old channel is sent again on the new one."""
        old, self._channel = self._channel, self._channel_to(endpoint)
        old.close()

    def _channel_to(self, endpoint: Endpoint) -> Channel:
        return Channel(endpoint.host, endpoint.port, self._channels.options, on_lost=self._look_soon)

    def close(self) -> None:
        self._queue.clear()
        if self.task is not None:
            self.task.cancel()
        self._channel.close()

    async def run(self) -> None:
        while True:
            while not self._queue:
                self._filled.clear()
                await self._filled.wait()
            request, on_response = self._queue.popleft()
            response = await self._deliver(request)
            if response is not None:
                on_response(response)

    def _look_soon(self) -> None:
        name = f"look for broker {self._broker_id}"
        self._channels.supervisor.start(name, self._look, OnFailure.LOG)

    async def _look(self) -> None:
        """After a connection was lost: whether somebody still listens. If that cannot be told, the session decides."""
        await asyncio.sleep(self._channel.retry_in_ms / 1000)
        try:
            await self._channel.connection()
        except Disconnected as error:
            self._note_gone(error)
        except ApiError:
            return  # it lives; what it speaks is another question

    def _note_gone(self, error: Disconnected) -> None:
        """One that was never reached may be about to listen."""
        if isinstance(error, ConnectRefused) and self._was_reached and not self._is_gone:
            self._is_gone = True
            self._channels.on_gone(self._broker_id)

    async def _deliver(self, request: Message) -> Any:
        """The answer; None if the broker can never understand the question."""
        title = ApiKey(request.KEY).title
        is_first = True
        while True:
            try:
                connection = await self._channel.connection()
                self._was_reached = True
                if self._is_gone:
                    self._is_gone = False
                    self._channels.on_back(self._broker_id)
                return await connection.request(request)
            except Disconnected as error:
                self._note_gone(error)
                level = logging.INFO if is_first else logging.DEBUG
                logger.log(level, "%s will be sent to broker %d again: %s", title, self._broker_id, error)
                is_first = False
                await asyncio.sleep(max(RETRY_BACKOFF_MS, self._channel.retry_in_ms) / 1000)
            except ApiError as error:
                logger.warning("%s cannot be sent to broker %d: %s", title, self._broker_id, error)
                return None
