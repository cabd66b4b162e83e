"""Waiting until partitions have come to an offset: DelayedProduce and DelayedDeleteRecords.

Both answer for each partition by itself: one that has come to its offset, or can no longer, has its outcome; the
answer goes out when all have one, or when the time is up, and then the others have REQUEST_TIMED_OUT (what was
appended stays appended). An outcome is final: a partition that was replicated in time is not asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import ClassVar, Generic, NamedTuple, TypeVar, cast

from moldau.base.error_codes import ErrorCode
from moldau.replication.delayed import DelayedOperation

Outcome = TypeVar("Outcome")


class DeleteRecordsOutcome(NamedTuple):
    error: ErrorCode
    low_watermark: int


INVALID_LOW_WATERMARK = -1


class _DelayedOffsets(DelayedOperation, Generic[Outcome]):
    """`check` says how a partition that must come to an offset has ended, or None if it still may.

    It looks the partition up each time, since it may be gone or led by another broker by now. `send` gets the outcome
    of every partition in `required_offsets`; these are also the keys to watch.
    """

    __slots__ = ("_check", "_send", "outcomes", "pending")

    timed_out: ClassVar[object]

    def __init__(
        self,
        timeout_ms: int,
        required_offsets: Mapping[Hashable, int],
        check: Callable[[Hashable, int], Outcome | None],
        send: Callable[[dict[Hashable, Outcome]], None],
    ) -> None:
        super().__init__(timeout_ms)
        self.pending = dict(required_offsets)
        self.outcomes: dict[Hashable, Outcome] = {}
        self._check = check
        self._send = send

    def can_complete(self, touched: Hashable | None) -> bool:
        if touched is not None:
            if touched in self.pending:
                self._check_one(touched)
        else:
            for key in list(self.pending):
                self._check_one(key)
        return not self.pending

    def _check_one(self, key: Hashable) -> None:
        outcome = self._check(key, self.pending[key])
        if outcome is not None:
            self.outcomes[key] = outcome
            del self.pending[key]

    def on_complete(self, expired: bool) -> None:  # noqa: ARG002 - what is pending says it
        """`pending` stays as it is, for whoever counts expirations by partition; it is empty unless expired."""
        outcomes = self.outcomes
        if self.pending:
            outcomes = outcomes | dict.fromkeys(self.pending, cast("Outcome", self.timed_out))
        self._send(outcomes)


class DelayedProduce(_DelayedOffsets[ErrorCode]):
    """A produce with acks=all: each partition's high watermark must come to the end of what was appended.

    `Partition.replicated_to` is the check. Every growth of a high watermark, change of an ISR and loss of leadership
    touches the partition.
    """

    __slots__ = ()
    timed_out = ErrorCode.REQUEST_TIMED_OUT


class DelayedDeleteRecords(_DelayedOffsets[DeleteRecordsOutcome]):
    """DeleteRecords: no live replica may still have what is before the offset, so the low watermark must come to it."""

    __slots__ = ()
    timed_out = DeleteRecordsOutcome(ErrorCode.REQUEST_TIMED_OUT, INVALID_LOW_WATERMARK)
