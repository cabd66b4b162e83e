"""Names of transactional ids.

    <prefix><sink id>                                        the sink's own: who has it decides
    <prefix><sink id>.<generation>.<worker>.<number>         a task attempt's

A worker process takes a number for each attempt of a batch, and begins at zero with the next batch: so brokers
remember as many ids as there are tasks at once, not as there ever were. Why that is safe is told in `protocol`.
"""

from __future__ import annotations

import re
from typing import Final
from uuid import uuid4

_TAIL: Final = re.compile(r"\.([0-9a-f]{12})\.[0-9a-f]{8}\.[0-9]{1,9}")


def new_generation() -> str:
    return uuid4().hex[:12]


def generation_of(transactional_id: str, sink_name: str) -> str | None:
    """The generation in an attempt's id; None if it is no attempt's id of this sink."""
    if not transactional_id.startswith(sink_name):
        return None
    found = _TAIL.fullmatch(transactional_id, len(sink_name))
    return None if found is None else found[1]


class IdPool:
    """The ids that one worker process uses for one sink."""

    def __init__(self, sink_name: str) -> None:
        self._sink_name = sink_name
        self._worker = ""
        self._generation = ""
        self._batch_id = -1
        self._used = 0

    def take(self, generation: str, batch_id: int) -> str:
        """An id that no other attempt of this batch has, in any process."""
        if generation != self._generation:
            self._generation, self._worker = generation, uuid4().hex[:8]
            self._batch_id = -1
        if batch_id > self._batch_id:  # an attempt of an earlier batch may still be started: it gets a number as well
            self._batch_id, self._used = batch_id, 0
        number = self._used
        self._used += 1
        return f"{self._sink_name}.{generation}.{self._worker}.{number}"
