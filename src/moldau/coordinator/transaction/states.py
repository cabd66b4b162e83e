"""The states of a transaction, and how one leads to another.

    EMPTY ◄───────────────┬──────────────────────────────┐  InitProducerId
      │ first partition   │                              │
      ▼                   │                              │
    ONGOING ──commit──► PREPARE_COMMIT ──markers──► COMPLETE_COMMIT ──┐
      │  ▲                                                            │ first partition of the next
      │  └────────────────────────────────────────────────────────────┤
      ├──abort────────► PREPARE_ABORT ───markers──► COMPLETE_ABORT ───┘
      └──PREPARE_EPOCH_FENCE──▲   a timeout, or another producer: aborted with a higher epoch

    EMPTY, COMPLETE_COMMIT and COMPLETE_ABORT ──expired──► DEAD

The numbers are stored, the titles are what tools show: both are Kafka's. DEAD is a tombstone in the log, and
PREPARE_EPOCH_FENCE is not stored either: the raised epoch is written together with PREPARE_ABORT.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class TransactionState(IntEnum):
    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def title(self) -> str:
        """As in ListTransactions and DescribeTransactions: PrepareCommit."""
        return _TITLES[self]


_TITLES: Final = {state: state.name.title().replace("_", "") for state in TransactionState}
BY_TITLE: Final = {title: state for state, title in _TITLES.items()}

IDLE: Final = frozenset((TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT))
"""No transaction is under way, and the transactional id may expire."""
PREPARED: Final = frozenset((TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT))
"""It is decided, and markers are being written."""

PREVIOUS_STATES: Final = {
    TransactionState.EMPTY: IDLE,
    TransactionState.ONGOING: IDLE | {TransactionState.ONGOING},
    TransactionState.PREPARE_COMMIT: frozenset((TransactionState.ONGOING,)),
    TransactionState.PREPARE_ABORT: frozenset((TransactionState.ONGOING, TransactionState.PREPARE_EPOCH_FENCE)),
    TransactionState.COMPLETE_COMMIT: frozenset((TransactionState.PREPARE_COMMIT,)),
    TransactionState.COMPLETE_ABORT: frozenset((TransactionState.PREPARE_ABORT,)),
    TransactionState.DEAD: IDLE,
    TransactionState.PREPARE_EPOCH_FENCE: frozenset((TransactionState.ONGOING,)),
}
"""From which states each can be entered."""
