"""What clients raise beside the errors of `moldau.base.errors`.

MoldauError
├── ApiError
│   ├── TimedOut             a call did not end within its time
│   │   ├── BufferExhausted  no room for the record within max.block.ms
│   │   └── TopicMissing     brokers have answered, and know no such topic
│   ├── RecordTooLarge       a record that no retry will make smaller
│   ├── ProducerFenced       a newer producer has this transactional id: close this one
│   └── TransactionAborted   the record was waiting when its transaction was aborted
├── IllegalState             a call that makes no sense now
│   └── ClientClosed         the client is closed, its loop is gone, or the process was forked
└── SerializationError       a serializer or deserializer failed; `__cause__` is what it raised
"""

from __future__ import annotations

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, MoldauError


class TimedOut(ApiError):
    """Says what was waited for, how long, and what failed last."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.REQUEST_TIMED_OUT, message)


class BufferExhausted(TimedOut):
    """Records are made faster than brokers take them."""


class TopicMissing(TimedOut):
    """Nobody has created the topic meanwhile; the text says where it is missing and what to do."""


class RecordTooLarge(ApiError):
    """Larger than the client's or the topic's limit; the text names the limit."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.MESSAGE_TOO_LARGE, message)


class ProducerFenced(ApiError):
    """Final: everything but `close` raises it again."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.PRODUCER_FENCED, message)


class TransactionAborted(ApiError):
    """The record was never sent, or its fate is that of the aborted transaction."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.TRANSACTION_ABORTABLE, message)


class IllegalState(MoldauError):
    """The text says what has to come first."""


class ClientClosed(IllegalState):
    """Make a new client."""


class SerializationError(MoldauError):
    """The text names the topic and whether it was the key or the value."""


def error_code(number: int) -> ErrorCode:
    """The code that an answer carries; one from a newer Kafka than this is an unknown error."""
    try:
        return ErrorCode(number)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def check(number: int, message: str | None = None) -> None:
    """Raise an answer's error, if it has one."""
    if number:
        code = error_code(number)
        known = code is not ErrorCode.UNKNOWN_SERVER_ERROR or number == code
        raise ApiError(code, message or ("" if known else f"error code {number}, which this client does not know"))
