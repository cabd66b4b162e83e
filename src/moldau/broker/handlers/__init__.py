"""Handlers, one file per API: what the API is for, what its versions changed for us, one registration, the code.

    @handles(ApiKey.HEARTBEAT, "0-4")
    def heartbeat(node: Node, request: HeartbeatRequest, call: Call) -> HeartbeatResponse | None:
        ...

A handler is called synchronously. It returns the response, or None if it answers later through the call. One that
waits for a disk or for other nodes is a coroutine function instead, and goes on as a task of its own. Either may raise
`ApiError`: the response is then made by the registration's `on_error`, which by default sets the response's own
`error_code`. Only registered versions are promised in ApiVersions.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

from moldau.base.error_codes import ErrorCode
from moldau.protocol.api import ApiKey, request_class, response_class
from moldau.protocol.schema import Message, Versions

OnError = Callable[[Any, ErrorCode, str], Message]
Response = Message | None
Handler = Callable[[Any, Any, Any], Response | Awaitable[Response]]
H = TypeVar("H", bound=Callable[..., Response | Awaitable[Response]])


@dataclass(frozen=True, slots=True)
class Registration:
    """Which versions of an API are served, by which function, and how it says that it failed."""

    key: ApiKey
    versions: Versions
    handle: Handler
    on_error: OnError


_registrations: dict[ApiKey, Registration] = {}


def handles(key: ApiKey, versions: str, on_error: OnError | None = None) -> Callable[[H], H]:
    """Register a function as the handler of an API in a range of versions."""

    def register(function: H) -> H:
        assert key not in _registrations, f"{key.title} has a handler already"
        _registrations[key] = registration(key, versions, function, on_error)
        return function

    return register


def registration(key: ApiKey, versions: str, handle: Handler, on_error: OnError | None = None) -> Registration:
    served, known = Versions.parse(versions), request_class(key).VERSIONS
    assert known.low <= served.low <= served.high <= known.high, f"{key.title} has versions {known}, not {served}"
    return Registration(key, served, handle, on_error or top_level_error(key))


def top_level_error(key: ApiKey) -> OnError:
    """Errors of an API whose response has one code, and perhaps one message, for the whole request."""
    cls: Any = response_class(key)
    names = cls.__slots__
    assert "error_code" in names, f"{cls.__name__} has no error_code of its own: give handles() an on_error"

    def on_error(_request: Any, code: ErrorCode, message: str) -> Message:
        response: Message = cls(error_code=code)
        if "error_message" in names:
            response.error_message = message  # type: ignore[attr-defined]
        return response

    return on_error


def all_registrations() -> dict[ApiKey, Registration]:
    """Every handler there is; imports the files that have not been imported yet."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return dict(_registrations)
