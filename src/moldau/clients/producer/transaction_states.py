"""Where a transactional producer stands, as a table.

UNINITIALIZED → INITIALIZING → READY ⇄ IN_TRANSACTION → COMMITTING → READY
                                          ↓      ↘          ↓
                                  ABORTABLE_ERROR → ABORTING → READY
and from everywhere to FATAL_ERROR, which only close leaves
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final


class TransactionState(Enum):
    UNINITIALIZED = auto()
    INITIALIZING = auto()
    READY = auto()
    IN_TRANSACTION = auto()
    COMMITTING = auto()
    ABORTING = auto()
    ABORTABLE_ERROR = auto()
    FATAL_ERROR = auto()


_S = TransactionState

# A call that timed out leaves its state, and may be made again: hence the loops.
TRANSITIONS: Final = {
    _S.UNINITIALIZED: {_S.INITIALIZING},
    _S.INITIALIZING: {_S.INITIALIZING, _S.READY},
    _S.READY: {_S.IN_TRANSACTION, _S.ABORTABLE_ERROR},
    _S.IN_TRANSACTION: {_S.COMMITTING, _S.ABORTING, _S.ABORTABLE_ERROR},
    _S.COMMITTING: {_S.COMMITTING, _S.READY, _S.ABORTABLE_ERROR},
    _S.ABORTING: {_S.ABORTING, _S.READY},
    _S.ABORTABLE_ERROR: {_S.ABORTING},
    _S.FATAL_ERROR: set[TransactionState](),
}

WHAT_COMES_FIRST: Final = {
    _S.UNINITIALIZED: "call init_transactions() first",
    _S.INITIALIZING: "init_transactions() has not succeeded yet; call it again",
    _S.READY: "call begin_transaction() first",
    _S.IN_TRANSACTION: "a transaction is open; commit_transaction() or abort_transaction() ends it",
    _S.COMMITTING: "commit_transaction() has not succeeded yet; call it again",
    _S.ABORTING: "abort_transaction() has not succeeded yet; call it again",
    _S.ABORTABLE_ERROR: "the transaction has failed; call abort_transaction()",
    _S.FATAL_ERROR: "the producer is of no further use; close it and make a new one",
}


def is_legal(before: TransactionState, after: TransactionState) -> bool:
    return after is TransactionState.FATAL_ERROR or after in TRANSITIONS[before]
