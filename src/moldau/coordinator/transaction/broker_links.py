"""Requests from a coordinator to other brokers, and to its own: whoever the metadata says can be reached there.

An answer comes to a function, so that a request costs no task while the connection stands.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
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


class BrokerLinks:
    """One channel for each broker, over the listener between brokers."""

    def __init__(self, metadata: MetadataCache, listener: str, options: ClientOptions, supervisor: Supervisor) -> None:
        self._metadata = metadata
        self._listener = listener
        self._options = options
        self._supervisor = supervisor
        self._channels: dict[int, Channel] = {}

    def send(self, broker_id: int, request: Message, answered: Answered) -> None:
        """Send now, or as soon as there is a connection."""
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

    def close(self) -> None:
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
