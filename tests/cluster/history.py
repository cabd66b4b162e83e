"""What clients did and saw while a cluster was being broken: each send with its outcome, each poll, the final log.

A record says who it is: its producer and its number there, which rises by one with every send. So each anomaly can be
told from the history alone, and the entries that prove it can be shown.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

FINAL_READER = "final"
"""Who reads everything, committed only, when the faults are over: what it saw is the log."""


class Outcome(StrEnum):
    ACKED = "acked"
    FAILED = "failed"
    """It is certain that it was not written."""
    UNKNOWN = "unknown"
    """The answer was lost, or never came."""


class Record(NamedTuple):
    producer: str
    number: int

    def encode(self) -> bytes:
        return f"{self.producer}:{self.number}".encode()

    @classmethod
    def decode(cls, value: bytes) -> Record:
        producer, _, number = value.decode().rpartition(":")
        return cls(producer, int(number))


class Send(NamedTuple):
    record: Record
    partition: int
    outcome: Outcome
    offset: int | None = None
    transaction: int | None = None
    """Its number among the transactions of the producer; None outside of any."""


class Poll(NamedTuple):
    consumer: str
    run: int
    """Counts the times that the consumer got the partition: each begins anew at what was committed."""
    partition: int
    offset: int
    record: Record


class Commit(NamedTuple):
    """The group was told that everything below `offset` is done."""

    consumer: str
    partition: int
    offset: int


@dataclass
class History:
    """In the order in which things happened to each client; clients' threads may add to it at the same time."""

    sends: list[Send] = field(default_factory=list)
    transactions: dict[tuple[str, int], Outcome] = field(default_factory=dict)
    """By producer and number: ACKED was committed, FAILED was aborted."""
    polls: list[Poll] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)
    log: list[Poll] = field(default_factory=list)
    """What the final reader saw."""

    def save(self, path: Path) -> None:
        """For a look at it later: a JSON object a line."""
        with path.open("w") as file:
            for kind in ("sends", "polls", "commits", "log"):
                for entry in getattr(self, kind):
                    file.write(json.dumps({"kind": kind, **entry._asdict()}) + "\n")
            for (producer, number), outcome in self.transactions.items():
                entry = {"kind": "transaction", "producer": producer, "number": number, "outcome": outcome}
                file.write(json.dumps(entry) + "\n")
