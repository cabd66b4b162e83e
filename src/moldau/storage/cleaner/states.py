"""Who may work on a partition's log: the cleaner, or somebody who has asked it to keep away.

                    start      pause       finish     resume
    idle            cleaning   paused      -          -
    cleaning        -          aborting    idle       -
    aborting        -          aborting    paused     aborting
    paused          -          paused      -          paused

Pauses are counted, since a truncation and the move to another directory may want the same log: `paused` becomes `idle`
when as many have resumed, also while a cleaning is still on its way out. A dash is a bug in the caller.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TypeVar

from moldau.storage.log_directory import TopicPartition


class CleaningState(Enum):
    IDLE = auto()
    CLEANING = auto()
    ABORTING = auto()
    """A cleaning has been told to stop and will change nothing any more, but has not ended yet."""
    PAUSED = auto()


class CleaningEvent(Enum):
    START = auto()
    PAUSE = auto()
    FINISH = auto()
    RESUME = auto()


_Value = TypeVar("_Value")

_IDLE, _CLEANING, _ABORTING, _PAUSED = CleaningState

TRANSITIONS: dict[tuple[CleaningState, CleaningEvent], CleaningState] = {
    (_IDLE, CleaningEvent.START): _CLEANING,
    (_IDLE, CleaningEvent.PAUSE): _PAUSED,
    (_CLEANING, CleaningEvent.FINISH): _IDLE,
    (_CLEANING, CleaningEvent.PAUSE): _ABORTING,
    (_ABORTING, CleaningEvent.PAUSE): _ABORTING,
    (_ABORTING, CleaningEvent.FINISH): _PAUSED,
    (_ABORTING, CleaningEvent.RESUME): _ABORTING,
    (_PAUSED, CleaningEvent.PAUSE): _PAUSED,
    (_PAUSED, CleaningEvent.RESUME): _PAUSED,
}


class CleaningStates:
    """The state of each partition; most are idle and take no memory."""

    def __init__(self) -> None:
        self._states: dict[TopicPartition, CleaningState] = {}
        self._pauses: dict[TopicPartition, int] = {}

    def __getitem__(self, partition: TopicPartition) -> CleaningState:
        return self._states.get(partition, _IDLE)

    def pauses(self, partition: TopicPartition) -> int:
        return self._pauses.get(partition, 0)

    def apply(self, partition: TopicPartition, event: CleaningEvent) -> CleaningState:
        """The state after an event."""
        before = self[partition]
        assert (before, event) in TRANSITIONS, f"{partition}: {event.name} while {before.name}"
        after = TRANSITIONS[before, event]
        change = {CleaningEvent.PAUSE: 1, CleaningEvent.RESUME: -1}.get(event, 0)
        pauses = self.pauses(partition) + change
        assert pauses >= 0, f"{partition}: resumed more often than paused"
        if after is _PAUSED and not pauses:
            after = _IDLE
        _put(self._pauses, partition, pauses, 0)
        _put(self._states, partition, after, _IDLE)
        return after


def _put(values: dict[TopicPartition, _Value], partition: TopicPartition, value: _Value, default: _Value) -> None:
    if value == default:
        values.pop(partition, None)
    else:
        values[partition] = value
