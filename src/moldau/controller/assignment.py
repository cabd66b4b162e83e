"""The replicas of a partition, and how one set of them becomes another (KIP-455).

While a partition moves, `replicas` holds the target first and then what will be removed; `adding` and `removing` tell
them apart. The order of the target is the order of preference: its first replica is the preferred leader.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class ReplicaAssignment(NamedTuple):
    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def is_being_reassigned(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def origin(self) -> tuple[int, ...]:
        """What a cancelled reassignment goes back to."""
        return _without(self.replicas, self.adding)

    @property
    def target(self) -> tuple[int, ...]:
        """What a finished reassignment leaves."""
        return _without(self.replicas, self.removing)

    def reassign_to(self, target: Iterable[int]) -> ReplicaAssignment:
        """On the way from where the replicas were before any reassignment to `target`."""
        origin, target = self.origin, tuple(target)
        replicas = tuple(dict.fromkeys(target + origin))
        return ReplicaAssignment(replicas, _without(replicas, origin), _without(replicas, target))

    def with_replica(self, replica: int) -> ReplicaAssignment:
        return self if replica in self.replicas else self._replace(replicas=(*self.replicas, replica))

    def without_replica(self, replica: int) -> ReplicaAssignment:
        return ReplicaAssignment(*(_without(replicas, (replica,)) for replicas in self))


def _without(replicas: tuple[int, ...], others: Iterable[int]) -> tuple[int, ...]:
    left_out = set(others)
    return tuple(replica for replica in replicas if replica not in left_out)
