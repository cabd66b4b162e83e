"""Requests from a coordinator to other brokers, and to its own: whoever the metadata says can be reached there.

An answer comes to a function, so that a request costs no task while the connection stands. What the own broker can be
told without a request is told so, in a turn of the loop of its own: who asks sees no difference but the time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from moldau.base.errors import MoldauError
from moldau.base.supervision import OnFailure, Supervisor
from moldau.cluster.metadata_cache import MetadataCache
from moldau.net.channel import Channel
from moldau.net.client_options import ClientOptions
from moldau.protocol.schema import Message

logger = logging.getLogger(__name__)

Answered = Callable[[Any], None]
"""Called once with the response, or with None if there is none: whether the broker obeyed is then unknown."""

Serve = Callable[[Any, Answered], None]
"""Does what a request asks for, and gives the response to a function."""


class BrokerLinks:
    """One channel for each broker, over the listener between brokers. `here` is what `broker_id`, this one, does."""

    def __init__(
        self,
        metadata: MetadataCache,
        listener: str,
        options: ClientOptions,
        supervisor: Supervisor,
        *,
        broker_id: int,
        here: Mapping[type[Message], Serve],
    ) -> None:
        self._broker_id = broker_id
        self._here = here
        self._is_closed = False
        self._metadata = metadata
        self._listener = listener
        self._options = options
        self._supervisor = supervisor
        self._channels: dict[int, Channel] = {}

    def send(self, broker_id: int, request: Message, answered: Answered) -> None:
        """Send now, or as soon as there is a connection."""
        if broker_id == self._broker_id and (serve := self._here.get(type(request))) is not None:
            asyncio.get_running_loop().call_soon(self._serve, serve, request, answered)
            return
        channel = self._channel(broker_id)
        if channel is None:
            asyncio.get_running_loop().call_soon(answered, None)
            return
        connection = channel.connected
        if connection is None or not connection.can_send:
            name = f"{type(request).__name__} to broker {broker_id}"
            self._supervisor.start(name, partial(_connect_and_send, channel, request, answered), OnFailure.LOG)
            return
        try:
            sent = connection.send(request)
        except MoldauError as error:
            logger.warning("%s cannot be sent to broker %d: %s", type(request).__name__, broker_id, error)
            asyncio.get_running_loop().call_soon(answered, None)
        else:
            sent.add_done_callback(partial(_heard, answered))

    def _serve(self, serve: Serve, request: Message, answered: Answered) -> None:
        if self._is_closed:
            return
        is_answered = False

        def answer(response: Any) -> None:
            nonlocal is_answered
            if not is_answered:
                is_answered = True
                asyncio.get_running_loop().call_soon(answered, response)

        try:
            serve(request, answer)
        except Exception:
            logger.exception("%s failed", type(request).__name__)
            answer(None)

    def close(self) -> None:
        self._is_closed = True
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()

    def _channel(self, broker_id: int) -> Channel | None:
        """The way to a broker as the metadata has it now; the way to one that is gone is closed."""
        endpoint = self._metadata.endpoint(broker_id, self._listener)
        channel = self._channels.get(broker_id)
        if channel is not None and (endpoint is None or (channel.host, channel.port) != (endpoint.host, endpoint.port)):
            self._channels.pop(broker_id).close()
            channel = None
        if channel is None and endpoint is not None:
            channel = self._channels[broker_id] = Channel(endpoint.host, endpoint.port, self._options)
        return channel


async def _connect_and_send(channel: Channel, request: Message, answered: Answered) -> None:
    try:
        response = await channel.request(request)
    except MoldauError as error:
        logger.debug("%s was not answered: %s", type(request).__name__, error)
        response = None
    answered(response)


def _heard(answered: Answered, future: asyncio.Future[Any]) -> None:
    if future.cancelled() or future.exception() is not None:
        answered(None)
    else:
        answered(future.result())
