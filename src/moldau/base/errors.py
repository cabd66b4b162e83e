"""Every exception that Moldau raises on purpose.

    MoldauError
    ├── ConfigError              a setting has a wrong value, or settings contradict each other
    ├── ApiError                 an expected failure: carries the protocol's error code
    │   ├── CorruptRecord        a record batch does not hold what it says it holds
    │   └── UnsupportedVersion   the other side does not speak a version that is needed
    ├── MalformedMessage         bytes that cannot be the message they are said to be
    └── Disconnected             a connection is gone, and with it every answer still owed on it
        ├── ConnectFailed        it could not be made
        │   └── ConnectRefused   because nobody listens there
        └── RequestTimedOut      it was closed because an answer did not come in time

Two kinds of failure: what a client, a disk or a network may cause is one of these and is turned into
an answer in one place; a broken invariant of our own is an assertion and stops what it breaks.
"""

from __future__ import annotations

from moldau.base.error_codes import ErrorCode


class MoldauError(Exception):
    """The root: catching it catches everything that is raised on purpose, and nothing else."""


class ConfigError(MoldauError):
    """A setting is wrong; the text names the setting, the value and what is allowed."""


class ApiError(MoldauError):
    """An expected failure, as the protocol's error code and a text for the person who reads it."""

    def __init__(self, code: ErrorCode, message: str = "") -> None:
        super().__init__(message or code.name)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return f"{self.code.name}: {self.message}" if self.message else self.code.name


class CorruptRecord(ApiError):
    """A batch whose size, checksum, magic, count or contents contradict each other."""

    def __init__(self, message: str, code: ErrorCode = ErrorCode.CORRUPT_MESSAGE) -> None:
        super().__init__(code, message)


class UnsupportedVersion(ApiError):
    """No version that both sides speak can carry what was asked."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.UNSUPPORTED_VERSION, message)


class MalformedMessage(MoldauError):
    """Bytes that cannot be decoded; the connection that sent them is closed."""


class Disconnected(MoldauError):
    """The connection ended before the answer came; whether the request was carried out is unknown."""


class ConnectFailed(Disconnected):
    """No connection could be made to the address."""


class ConnectRefused(ConnectFailed):
    """The machine is there and says that nobody listens at the port: the process has ended, or not begun."""


class RequestTimedOut(Disconnected):
    """The answer did not come in time; the connection is closed, since later answers cannot be trusted."""
