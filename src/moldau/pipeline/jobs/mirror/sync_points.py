"""Which offset at the source is which at the target: pairs that hold exactly, and what follows for those between.

A pair (s, t) of a partition says: records before s are before t at the target, and those from s on are not. A group
that has committed s goes on with t. For an offset between two pairs the earlier one counts: the group sees some
records again at the target, and misses none.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from pathlib import Path
from typing import Final

from moldau.clients.records import TopicPartition

PAIRS_MAX: Final = 256  # of a partition; when there are more, every second of the older half goes

Pair = tuple[int, int]


class SyncPoints:
    """Pairs of all partitions, in order."""

    def __init__(self, pairs: dict[TopicPartition, list[Pair]] | None = None) -> None:
        self._pairs = pairs or {}

    def add(self, partition: TopicPartition, source: int, target: int) -> None:
        """A pair that holds now; it comes behind all that are known, or nothing has changed."""
        pairs = self._pairs.setdefault(partition, [])
        if pairs and source <= pairs[-1][0]:
            return
        pairs.append((source, target))
        if len(pairs) > PAIRS_MAX:
            half = PAIRS_MAX // 2
            pairs[:half] = pairs[:half:2]

    def translate(self, partition: TopicPartition, offset: int) -> int | None:
        """Where a group goes on at the target; None if it was never mirrored from there."""
        pairs = self._pairs.get(partition, [])
        at = bisect_right(pairs, offset, key=lambda pair: pair[0])
        return pairs[at - 1][1] if at else None

    def __len__(self) -> int:
        return sum(len(pairs) for pairs in self._pairs.values())

    def to_text(self) -> str:
        return json.dumps([[*partition, pairs] for partition, pairs in self._pairs.items()])

    @classmethod
    def from_text(cls, text: str) -> SyncPoints:
        rows = json.loads(text)
        return cls(
            {
                TopicPartition(str(topic), int(partition)): sorted(
                    (int(source), int(target)) for source, target in pairs
                )
                for topic, partition, pairs in rows
            }
        )


class SyncFile:
    """Sync points between two runs. Without it nothing is lost but the older pairs."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def load(self) -> SyncPoints:
        if self._path is None or not self._path.exists():
            return SyncPoints()
        try:
            return SyncPoints.from_text(self._path.read_text())
        except (ValueError, TypeError):
            return SyncPoints()  # half a file, or somebody else's: pairs come anew with every round

    def save(self, points: SyncPoints) -> None:
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        making = self._path.with_suffix(".new")
        making.write_text(points.to_text())
        making.rename(self._path)
