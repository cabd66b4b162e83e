"""From a frame to its handler and back: header, version, decoding, the call, and the answer to whatever goes wrong.

What a client can cause is answered here and nowhere else. Bytes that are no request, an API that is not served and a
version that is not promised end the connection with one line in the log, as in Kafka; an `ApiError` becomes the API's
own error response; anything else is a defect of ours, is logged with its traceback, and the client gets
UNKNOWN_SERVER_ERROR.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, MalformedMessage
from moldau.broker.call import Call
from moldau.broker.handlers import Handler, OnError, Registration
from moldau.broker.handlers import api_versions as api_versions_handler
from moldau.net.answer import Answer
from moldau.protocol.api import KNOWN_KEYS, ApiKey, request_class
from moldau.protocol.codec import decoder
from moldau.protocol.headers import RequestHeader, decode_request_header
from moldau.protocol.varint import Buffer

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Route:
    """What is looked up once for an API and version, and used for each of its requests."""

    decode: Callable[[Buffer, int], tuple[Any, int]]
    handle: Handler
    on_error: OnError


class Dispatcher:
    """Answers the requests of all connections of a node."""

    def __init__(self, node: Any, registrations: dict[ApiKey, Registration]) -> None:
        self._node = node
        self._registrations = registrations
        self._routes: dict[tuple[int, int], Route] = {}  # bounded by the served versions: others never enter

    def __call__(self, frame: memoryview, answer: Answer) -> None:
        header = decode_request_header(frame)
        call = Call(header, answer)
        route = self._routes.get(header[:2]) or self._find(header)
        if route is None:
            return api_versions_handler.unsupported(self._node, call)
        request, _ = route.decode(frame, header.body)
        try:
            response = route.handle(self._node, request, call)
        except ApiError as error:
            response = route.on_error(request, error.code, error.message)
        except Exception:
            logger.exception("%s failed", ApiKey(header.api_key).title)
            response = route.on_error(request, ErrorCode.UNKNOWN_SERVER_ERROR, "the broker failed; its log says why")
        if response is not None:
            call.respond(response)
        return None

    def _find(self, header: RequestHeader) -> Route | None:
        """The route of a version that is served; None if it is ApiVersions and must be answered nevertheless."""
        key, version = header.api_key, header.api_version
        found = self._registrations.get(key)  # type: ignore[call-overload]
        if found is not None and version in found.versions:
            decode = decoder(request_class(found.key), version)
            route = self._routes[key, version] = Route(decode, found.handle, found.on_error)
            return route
        if key == ApiKey.API_VERSIONS:
            return None
        name = ApiKey(key).title if key in KNOWN_KEYS else f"API {key}"
        served = f"versions {found.versions}" if found else "no version of it"
        raise MalformedMessage(f"{name} version {version} was sent, but {served} is served here")
