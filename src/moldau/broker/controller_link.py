"""The way from a broker to its controller, which may be any broker, itself included, and another one any time.

A request is sent to whoever the metadata names. If there is no controller, if it cannot be reached, or if it says that
it is not the controller any more, the next attempt follows after a pause, until the time is up. As soon as another one
is known nobody waits for the old one, which may be alive and silent.
"""

from __future__ import annotations

import asyncio
from typing import Any

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, Disconnected
from moldau.cluster.metadata_cache import MetadataCache
from moldau.cluster.znodes.brokers import Endpoint
from moldau.net.channel import Channel
from moldau.net.client_options import ClientOptions
from moldau.protocol.schema import Message

RETRY_BACKOFF_MS = 50


class ControllerLink:
    """Requests to the controller, over the listener between brokers."""

    def __init__(self, metadata: MetadataCache, listener: str, options: ClientOptions) -> None:
        self._metadata = metadata
        self._listener = listener
        self._options = options
        self._channel: Channel | None = None
        metadata.add_listener(lambda _topics: self._leave_old())

    async def request(self, request: Message, timeout_ms: int) -> Any:
        """The controller's answer; REQUEST_TIMED_OUT if there was none in time."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                while True:
                    answer = await self._try(request)
                    if answer is not None:
                        return answer
                    await asyncio.sleep(RETRY_BACKOFF_MS / 1000)
        except TimeoutError:
            name = type(request).__name__
            raise ApiError(
                ErrorCode.REQUEST_TIMED_OUT, f"no controller has answered {name} in {timeout_ms} ms"
            ) from None

    async def _try(self, request: Message) -> Any:
        channel = self._to_controller()
        if channel is None:
            return None
        try:
            answer = await channel.request(request)
        except Disconnected:
            return None
        return None if getattr(answer, "error_code", ErrorCode.NONE) == ErrorCode.NOT_CONTROLLER else answer

    def _to_controller(self) -> Channel | None:
        endpoint = self._endpoint()
        if endpoint is None:
            return None
        self._leave_old()
        if self._channel is None:
            self._channel = Channel(endpoint.host, endpoint.port, self._options)
        return self._channel

    def _endpoint(self) -> Endpoint | None:
        return self._metadata.endpoint(self._metadata.controller_id, self._listener)

    def _leave_old(self) -> None:
        """What is in flight to a broker that is not the controller any more is asked of the new one."""
        channel, endpoint = self._channel, self._endpoint()
        if channel is None or endpoint is None:
            return
        if (channel.host, channel.port) != (endpoint.host, endpoint.port):
            self.close()

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None
