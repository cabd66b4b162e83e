"""The four states of a partition, as the controller sees it, and the ways between them.

    NON_EXISTENT → NEW → ONLINE ⇄ OFFLINE → NON_EXISTENT

A partition is new until it first has a leader; online while it has one; offline when its leader is gone and no other
was found, or before its topic is deleted. An online partition may become online again, with another leader.
"""

from __future__ import annotations

from enum import Enum, auto


class PartitionState(Enum):
    NON_EXISTENT = auto()
    NEW = auto()
    ONLINE = auto()
    OFFLINE = auto()


_EXISTENT = frozenset({PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE})

PREVIOUS_PARTITION_STATES: dict[PartitionState, frozenset[PartitionState]] = {
    PartitionState.NEW: frozenset({PartitionState.NON_EXISTENT}),
    PartitionState.ONLINE: _EXISTENT,
    PartitionState.OFFLINE: _EXISTENT,
    PartitionState.NON_EXISTENT: frozenset({PartitionState.OFFLINE}),
}
"""From which states each state can be entered; every other transition is refused and logged."""
