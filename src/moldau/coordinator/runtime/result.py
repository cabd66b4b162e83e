"""What an operation of a coordinator yields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar, cast

from moldau.base.error_codes import ErrorCode
from moldau.records.batch import NO_PRODUCER, Producer

R = TypeVar("R")


class StoredRecord(NamedTuple):
    """A record of an internal topic; None as its value is a tombstone."""

    key: bytes
    value: bytes | None


class Reply(Generic[R]):
    """An answer that is given later, by somebody else's operation or by a timer: a join, a sync.

    It is given once and heard once, in either order.
    """

    __slots__ = ("_callback", "_value", "is_given")

    def __init__(self) -> None:
        self.is_given = False
        self._value: R | None = None
        self._callback: Callable[[R], None] | None = None

    def give(self, value: R) -> None:
        assert not self.is_given, "an answer is given once"
        self.is_given = True
        if self._callback is not None:
            self._callback(value)
        else:
            self._value = value

    def then(self, callback: Callable[[R], None]) -> None:
        """Call back with the answer, now or when it is given."""
        assert self._callback is None, "an answer is heard once"
        self._callback = callback
        if self.is_given:
            callback(cast(R, self._value))


@dataclass(slots=True)  # not frozen, which takes three times as long to make
class Result(Generic[R]):
    """The records to write, and the answer.

    `response` is None for operations that answer nobody, such as timers. `producer` makes the records part of a
    transaction. `is_replayed` is False if the shard has changed already in the way that replaying would change it; it
    then has to be put back by `on_append`, which hears NONE when the records are replicated, or why they are not.
    `batch` are the records as an operation has encoded them itself, for `run_now`; it is appended as it is, unless the
    internal topic is compressed.
    """

    records: Sequence[StoredRecord] = ()
    response: R | Reply[R] | None = None
    producer: Producer = NO_PRODUCER
    is_replayed: bool = True
    on_append: Callable[[ErrorCode], None] | None = None
    batch: bytearray | None = None
