"""The transactions of one partition of `__transaction_state`.

Operations are functions of a shard, one file for each kind. They make the next value of a transaction and hand it to
`decide`, which gives the record to write; the value is in place when that record is replayed.

What is decided has to be carried out: `send_markers` is called for every prepared transaction whose record is
replicated, when it was written here, and also when it was found in the log.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.coordinator.runtime.result import Result
from moldau.coordinator.runtime.shard import ShardContext
from moldau.coordinator.transaction.states import PREPARED, TransactionState
from moldau.coordinator.transaction.transaction import Transaction
from moldau.coordinator.transaction.transaction_records import (
    decode_transaction,
    encode_transaction,
    transactional_id_of,
)

RETRY_BACKOFF_MS = 100
WAIT_FOR_COMPLETION_MS = 100

SendMarkers = Callable[[int, Transaction], None]
"""Called with the shard's partition and a transaction that is prepared, and whose record is replicated."""
WhenComplete = Callable[[ErrorCode], None]


class TransactionShard:
    """`transactions` by transactional id; `ongoing` and `prepared` are the ids of those in such a state."""

    def __init__(self, context: ShardContext, send_markers: SendMarkers) -> None:
        self.partition = context.partition
        self._clock = context.clock
        self._timers = context.timers
        self._send_markers = send_markers
        self.transactions: dict[str, Transaction] = {}
        self.ongoing: dict[str, None] = {}
        self.prepared: dict[str, None] = {}
        self._decided: tuple[bytes, Transaction] | None = None
        self._waiting: dict[str, WhenComplete] = {}

    @property
    def now_ms(self) -> int:
        return self._clock.now_ms()

    def transaction(self, transactional_id: str) -> Transaction:
        """The transaction of an id that must have been initialized."""
        if not transactional_id:
            raise ApiError(ErrorCode.INVALID_REQUEST, "a transactional id cannot be empty")
        found = self.transactions.get(transactional_id)
        if found is None:
            raise ApiError(
                ErrorCode.INVALID_PRODUCER_ID_MAPPING, f"{transactional_id!r} belongs to no producer: it may be expired"
            )
        return found

    # -- changing

    def decide(
        self, transaction: Transaction, response: Any, on_append: Callable[[ErrorCode], None] | None = None
    ) -> Result[Any]:
        """Make this the transaction of its id."""
        record = encode_transaction(transaction)
        assert record.value is not None
        self._decided = record.value, transaction
        return Result((record,), response, on_append=on_append)

    def prepare(self, transaction: Transaction, response: Any) -> Result[Any]:
        """Make this the end of a transaction; its markers follow."""
        return self.decide(transaction, response, partial(self._carry_out, [transaction]))

    def replay(self, key: bytes, value: bytes | None, producer_id: int) -> None:  # noqa: ARG002 - never part of one
        transactional_id = transactional_id_of(key)
        if transactional_id is None:
            return
        self.ongoing.pop(transactional_id, None)
        self.prepared.pop(transactional_id, None)
        if value is None:
            self.transactions.pop(transactional_id, None)
            return
        transaction = self._known_or_decoded(transactional_id, value)
        self.transactions[transactional_id] = transaction
        if transaction.state is TransactionState.ONGOING:
            self.ongoing[transactional_id] = None
        elif transaction.state in PREPARED:
            self.prepared[transactional_id] = None

    def _known_or_decoded(self, transactional_id: str, value: bytes) -> Transaction:
        """The value that was just decided is taken as it is: it knows more than the log does."""
        decided, self._decided = self._decided, None
        if decided is not None and decided[0] is value:
            return decided[1]
        return decode_transaction(transactional_id, value)

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        """Never called: what a coordinator of transactions writes is not part of one."""

    # -- carrying out

    def loaded(self) -> None:
        if self.prepared:
            self._carry_out_later(0)

    def _carry_out_later(self, delay_ms: int) -> None:
        """Look again when everything that is known now is replicated."""

        def look() -> Result[None]:
            found = [self.transactions[transactional_id] for transactional_id in self.prepared]
            return Result(on_append=partial(self._carry_out, found))

        self._timers.schedule("carry out", delay_ms, look)

    def _carry_out(self, transactions: list[Transaction], error: ErrorCode) -> None:
        """The records of prepared transactions are replicated; or not yet, but they are in the log."""
        for transaction in transactions:
            if self.transactions.get(transaction.transactional_id) is not transaction:
                continue  # it was refused, or is complete by now
            if error is ErrorCode.NONE:
                self._send_markers(self.partition, transaction)
            else:
                self._carry_out_later(RETRY_BACKOFF_MS)

    def complete(self, transaction: Transaction) -> Result[None]:
        """All markers of a prepared transaction are written."""
        transactional_id = transaction.transactional_id
        if self.transactions.get(transactional_id) is not transaction:
            return Result()

        def on_append(error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                self._tell(transactional_id, error)
            else:  # written again if it is not in the log, waited for if it is
                self._timers.schedule((transactional_id, "complete"), RETRY_BACKOFF_MS, again)

        def again() -> Result[None]:
            if self.transactions.get(transactional_id) is transaction:
                return self.complete(transaction)
            return Result(on_append=on_append)

        return self.decide(transaction.completed(self.now_ms), None, on_append)

    # -- waiting for it

    def when_complete(self, transactional_id: str, tell: WhenComplete) -> bool:
        """Tell somebody when a prepared transaction is complete, or after a while that it is not.

        A producer that begins its next transaction often comes while the markers are on their way. Kafka answers
        CONCURRENT_TRANSACTIONS, and the producer comes again after a pause that is longer than the markers take. One
        waits for each id; False if there is one, or nothing to wait for.
        """
        if transactional_id not in self.prepared or transactional_id in self._waiting:
            return False
        self._waiting[transactional_id] = tell

        def give_up() -> Result[None]:
            self._tell(transactional_id, ErrorCode.CONCURRENT_TRANSACTIONS)
            return Result()

        self._timers.schedule((transactional_id, "wait"), WAIT_FOR_COMPLETION_MS, give_up)
        return True

    def _tell(self, transactional_id: str, error: ErrorCode) -> None:
        waiting = self._waiting.pop(transactional_id, None)
        if waiting is not None:
            self._timers.cancel((transactional_id, "wait"))
            waiting(error)

    def unloaded(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for tell in waiting.values():
            tell(ErrorCode.NOT_COORDINATOR)
