"""The seven states of a replica, as the controller sees it, and the ways between them.

    NON_EXISTENT → NEW → ONLINE ⇄ OFFLINE → DELETION_STARTED → DELETION_SUCCESSFUL → NON_EXISTENT
                                  OFFLINE ⇄ DELETION_INELIGIBLE ← DELETION_STARTED

A replica is new until its partition has a leader; online when it may lead or follow; offline when its broker or its
directory is gone, or before it is deleted; ineligible when a deletion failed and waits for its broker.
"""

from __future__ import annotations

from enum import Enum, auto


class ReplicaState(Enum):
    NEW = auto()
    ONLINE = auto()
    OFFLINE = auto()
    DELETION_STARTED = auto()
    DELETION_SUCCESSFUL = auto()
    DELETION_INELIGIBLE = auto()
    NON_EXISTENT = auto()


_CAN_COME_AND_GO = frozenset(
    {ReplicaState.NEW, ReplicaState.ONLINE, ReplicaState.OFFLINE, ReplicaState.DELETION_INELIGIBLE}
)

PREVIOUS_REPLICA_STATES: dict[ReplicaState, frozenset[ReplicaState]] = {
    ReplicaState.NEW: frozenset({ReplicaState.NON_EXISTENT}),
    ReplicaState.ONLINE: _CAN_COME_AND_GO,
    ReplicaState.OFFLINE: _CAN_COME_AND_GO,
    ReplicaState.DELETION_STARTED: frozenset({ReplicaState.OFFLINE}),
    ReplicaState.DELETION_SUCCESSFUL: frozenset({ReplicaState.DELETION_STARTED}),
    ReplicaState.DELETION_INELIGIBLE: frozenset({ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED}),
    ReplicaState.NON_EXISTENT: frozenset({ReplicaState.DELETION_SUCCESSFUL}),
}
"""From which states each state can be entered; every other transition is refused and logged."""
