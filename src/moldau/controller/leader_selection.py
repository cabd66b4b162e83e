"""Who shall lead a partition: pure functions, one for each reason to ask.

All follow the order of the assigned replicas, which is fixed until a reassignment and so spreads leaders as placement
meant it; the order of the ISR means nothing. None means that nobody can lead.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum, auto
from typing import NamedTuple

from moldau.controller.assignment import ReplicaAssignment
from moldau.controller.leadership import Leadership


class Reason(Enum):
    """Why a leader is to be selected."""

    OFFLINE = auto()
    """The leader is gone."""
    UNCLEAN = auto()
    """The leader is gone, and somebody wants any replica that lives rather than none."""
    REASSIGNMENT = auto()
    PREFERRED = auto()
    CONTROLLED_SHUTDOWN = auto()


class Candidates(NamedTuple):
    """A partition, and which of the brokers can be asked."""

    assignment: ReplicaAssignment
    leadership: Leadership
    online: Collection[int]
    """Replicas whose broker lives, does not shut down, and has them on a directory that works."""
    shutting_down: Collection[int] = ()
    """Replicas that are online on a broker that shuts down."""


class Selection(NamedTuple):
    leadership: Leadership
    recipients: tuple[int, ...]
    """The replicas to be told."""


def select_when_offline(candidates: Candidates, *, unclean: bool) -> Selection | None:
    """An in-sync replica that lives; only if there is none and `unclean` allows it, any that lives.

    An unclean leader is alone in sync, and what only others had is lost (A23).
    """
    replicas, leadership, online = candidates.assignment.replicas, candidates.leadership, candidates.online
    recipients = tuple(replica for replica in replicas if replica in online)
    leader = _first(recipients, leadership.isr)
    if leader is not None:
        isr = tuple(replica for replica in leadership.isr if replica in online)
        return Selection(leadership.next(leader, isr), recipients)
    if unclean and recipients:
        leader = recipients[0]
        return Selection(leadership.next(leader, (leader,), is_recovering=True), recipients)
    return None


def needs_unclean(candidates: Candidates) -> bool:
    """Whether no in-sync replica lives."""
    return not any(replica in candidates.online for replica in candidates.leadership.isr)


def select_for_reassignment(candidates: Candidates) -> Selection | None:
    target = candidates.assignment.target
    leader = _first(target, candidates.online, candidates.leadership.isr)
    return None if leader is None else Selection(candidates.leadership.next(leader), target)


def select_preferred(candidates: Candidates) -> Selection | None:
    replicas = candidates.assignment.replicas
    leader = _first(replicas[:1], candidates.online, candidates.leadership.isr)
    return None if leader is None else Selection(candidates.leadership.next(leader), replicas)


def select_for_controlled_shutdown(candidates: Candidates) -> Selection | None:
    """Another in-sync replica; whoever shuts down leaves the ISR, but is told."""
    replicas, leadership, online = candidates.assignment.replicas, candidates.leadership, candidates.online
    leader = _first(replicas, online, leadership.isr)
    if leader is None:
        return None
    isr = tuple(replica for replica in leadership.isr if replica not in candidates.shutting_down)
    recipients = tuple(replica for replica in replicas if replica in online or replica in candidates.shutting_down)
    return Selection(leadership.next(leader, isr), recipients)


def select(reason: Reason, candidates: Candidates, *, unclean: bool = False) -> Selection | None:
    match reason:
        case Reason.OFFLINE | Reason.UNCLEAN:
            return select_when_offline(candidates, unclean=unclean)
        case Reason.REASSIGNMENT:
            return select_for_reassignment(candidates)
        case Reason.PREFERRED:
            return select_preferred(candidates)
        case Reason.CONTROLLED_SHUTDOWN:
            return select_for_controlled_shutdown(candidates)


def _first(replicas: tuple[int, ...], *conditions: Collection[int]) -> int | None:
    return next((replica for replica in replicas if all(replica in each for each in conditions)), None)
