"""The states of a classic group, and which may follow which.

    EMPTY ──────────────────a member joins──────────────────► PREPARING_REBALANCE
    PREPARING_REBALANCE ────all have joined, or time is up──► COMPLETING_REBALANCE
                        ────all have gone───────────────────► EMPTY
    COMPLETING_REBALANCE ───the leader's assignment is written► STABLE
                        ────a member joins, goes or is silent► PREPARING_REBALANCE
    STABLE ─────────────────the same, or the leader joins again► PREPARING_REBALANCE

Any state ends in DEAD: the group is deleted or has expired, or another broker coordinates it.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class GroupState(Enum):
    """Under the names that clients and tools are told."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


EMPTY, PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE, DEAD = GroupState

FOLLOWING: Final = {
    EMPTY: {PREPARING_REBALANCE, DEAD},
    PREPARING_REBALANCE: {EMPTY, COMPLETING_REBALANCE, DEAD},
    COMPLETING_REBALANCE: {PREPARING_REBALANCE, STABLE, DEAD},
    STABLE: {PREPARING_REBALANCE, DEAD},
    DEAD: {DEAD},
}
"""The states that may follow each."""
