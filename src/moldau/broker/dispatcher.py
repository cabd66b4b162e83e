"""From a frame to its handler and back: header, version, decoding, the call, and the answer to whatever goes wrong.

What a client can cause is answered here and nowhere else. Bytes that are no request, an API that is not served and a
version that is not promised end the connection with one line in the log, as in Kafka; an `ApiError` becomes the API's
own error response; a coordination store that cannot be reached is something to try again; anything else is a defect
of ours, is logged with its traceback, and the client gets UNKNOWN_SERVER_ERROR.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutinefunction
from typing import Any

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, MalformedMessage
from moldau.base.supervision import OnFailure
from moldau.broker.call import Call
from moldau.broker.handlers import OnError, Registration
from moldau.broker.handlers import api_versions as api_versions_handler
from moldau.broker.request_log import LoggedCall
from moldau.broker.request_log import logger as request_log
from moldau.cluster.errors import ConnectionLoss, SessionExpired
from moldau.net.answer import Answer
from moldau.protocol.api import KNOWN_KEYS, ApiKey, request_class
from moldau.protocol.codec import decoder
from moldau.protocol.headers import RequestHeader, decode_request_header
from moldau.protocol.schema import Message
from moldau.protocol.varint import Buffer

logger = logging.getLogger(__name__)

DEBUG = logging.DEBUG


@dataclass(frozen=True, slots=True)
class Route:
    """What is looked up once for an API and version, and used for each of its requests."""

    decode: Callable[[Buffer, int], tuple[Any, int]]
    handle: Callable[[Any, Any, Any], Any]
    on_error: OnError
    is_coroutine: bool


def failure(route: Route, request: Any, call: Call, error: Exception) -> Message:
    """The answer to a request whose handler has raised an error."""
    if isinstance(error, ApiError):
        return route.on_error(request, error.code, error.message)
    header = call.header
    title = ApiKey(header.api_key).title
    if isinstance(error, ConnectionLoss | SessionExpired):
        logger.warning("%s of %r has to be asked again: %s", title, header.client_id, error)
        return route.on_error(request, ErrorCode.REQUEST_TIMED_OUT, "the coordination store cannot be reached now")
    logger.error("%s version %d of %r failed: %r", title, header.api_version, header.client_id, request, exc_info=error)
    return route.on_error(request, ErrorCode.UNKNOWN_SERVER_ERROR, "the broker failed; its log says why")


async def finish(route: Route, request: Any, call: Call, response: Awaitable[Message | None]) -> None:
    """Answer when a handler that waits for something has come to its end."""
    try:
        answer = await response
        if answer is not None:
            call.respond(answer)
    except Exception as error:
        call.respond(failure(route, request, call, error))


class Dispatcher:
    """Answers the requests of all connections of a node."""

    def __init__(self, node: Any, registrations: dict[ApiKey, Registration]) -> None:
        self._node = node
        self._registrations = registrations
        self._routes: dict[tuple[int, int], Route] = {}  # bounded by the served versions: others never enter

    def __call__(self, frame: memoryview, answer: Answer) -> None:
        header = decode_request_header(frame)
        if request_log.isEnabledFor(DEBUG):
            return self._dispatch_logged(frame, header, answer)
        return self._dispatch(frame, header, Call(header, answer))

    def _dispatch_logged(self, frame: memoryview, header: RequestHeader, answer: Answer) -> None:
        call = LoggedCall(header, answer, len(frame))
        self._dispatch(frame, header, call)
        call.handled()

    def _dispatch(self, frame: memoryview, header: RequestHeader, call: Call) -> None:
        route = self._routes.get(header[:2]) or self._find(header)
        if route is None:
            return api_versions_handler.unsupported(self._node, call)
        request, _ = route.decode(frame, header.body)
        if isinstance(call, LoggedCall):
            call.request = request
        try:
            response = route.handle(self._node, request, call)
            if route.is_coroutine:
                self._finish_later(route, request, call, response)
            elif response is not None:
                call.respond(response)
        except Exception as error:
            call.respond(failure(route, request, call, error))
        return None

    def _finish_later(self, route: Route, request: Any, call: Call, response: Awaitable[Message | None]) -> None:
        """The handler is a coroutine function: it goes on as a task, and the connection takes its next request."""
        title = ApiKey(call.header.api_key).title
        self._node.supervisor.start(title, partial(finish, route, request, call, response), OnFailure.LOG)

    def _find(self, header: RequestHeader) -> Route | None:
        """The route of a version that is served; None if it is ApiVersions and must be answered nevertheless."""
        key, version = header.api_key, header.api_version
        found = self._registrations.get(key)  # type: ignore[call-overload]
        if found is not None and version in found.versions:
            decode = decoder(request_class(found.key), version)
            route = self._routes[key, version] = Route(
                decode, found.handle, found.on_error, iscoroutinefunction(found.handle)
            )
            return route
        if key == ApiKey.API_VERSIONS:
            return None
        name = ApiKey(key).title if key in KNOWN_KEYS else f"API {key}"
        served = f"versions {found.versions}" if found else "no version of it"
        raise MalformedMessage(f"{name} version {version} was sent, but {served} is served here")
