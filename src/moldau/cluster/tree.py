"""The tree of znodes in memory, in two layers: what is committed, and what has been decided and is being written.

A change is decided against both layers (see `draft.py`) as soon as it is asked for, so that the next one can be
decided before the first is on disk; that is what makes group commit possible. Reads see the committed layer alone:
nobody learns of a change that a crash could still undo. Changes are committed in the order of their zxids.

Znodes are immutable tuples, replaced as a whole; only the sets of children and the index of ephemerals are changed
in place, and belong to the committed layer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from moldau.cluster.errors import NoNode
from moldau.cluster.paths import ROOT, name_of, parent_of, validate_path
from moldau.cluster.store import Stat, WatchEvent, Znode

_ROOT_ZNODE = Znode(None, Stat(0, 0, 0, 0, 0, 0, 0, 0, 0, 0))

Changes = Mapping[str, Znode | None]
"""What is at a path after a change; None: nothing any more."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """A change that was decided: all of it is committed, or nothing."""

    zxid: int
    changes: Changes
    events: tuple[WatchEvent, ...]


class Tree:
    def __init__(self, znodes: Iterable[tuple[str, Znode]] = (), last_zxid: int = 0) -> None:
        self.last_zxid = last_zxid
        """The last change that was decided."""
        self._znodes: dict[str, Znode] = {ROOT: _ROOT_ZNODE}
        self._znodes.update(znodes)
        self._children: dict[str, set[str]] = {}
        self._ephemerals: dict[int, dict[str, None]] = {}
        self._decided: dict[str, tuple[int, Znode | None]] = {}
        for path, znode in self._znodes.items():
            if path != ROOT:
                self._index(path, znode.stat)

    def find(self, path: str) -> Znode | None:
        return self._znodes.get(path)

    def get(self, path: str) -> Znode:
        znode = self._znodes.get(path)
        if znode is None:
            validate_path(path)
            raise NoNode(path)
        return znode

    def children(self, path: str) -> list[str]:
        self.get(path)
        return sorted(self._children.get(path, ()))

    def owners(self) -> list[int]:
        """The sessions that own ephemerals."""
        return list(self._ephemerals)

    def find_decided(self, path: str) -> Znode | None:
        """What will be at the path when everything that is decided is committed."""
        decided = self._decided.get(path)
        return self._znodes.get(path) if decided is None else decided[1]

    def ephemerals_decided(self, session_id: int) -> list[str]:
        candidates = dict(self._ephemerals.get(session_id, {}))
        candidates.update(dict.fromkeys(self._decided))
        return [
            path
            for path in candidates
            if (znode := self.find_decided(path)) is not None and znode.stat.ephemeral_owner == session_id
        ]

    def decide(self, transaction: Transaction) -> None:
        assert transaction.zxid == self.last_zxid + 1
        self.last_zxid = transaction.zxid
        for path, znode in transaction.changes.items():
            self._decided[path] = transaction.zxid, znode

    def commit(self, transaction: Transaction) -> None:
        for path, znode in transaction.changes.items():
            if self._decided[path][0] == transaction.zxid:
                del self._decided[path]
            old = self._znodes.get(path)
            moves = old is None or znode is None or old.stat.ephemeral_owner != znode.stat.ephemeral_owner
            if old is not None and moves:
                del self._znodes[path]
                self._unindex(path, old.stat)
            if znode is not None:
                self._znodes[path] = znode
                if moves:
                    self._index(path, znode.stat)

    def _index(self, path: str, stat: Stat) -> None:
        self._children.setdefault(parent_of(path), set()).add(name_of(path))
        if stat.ephemeral_owner:
            self._ephemerals.setdefault(stat.ephemeral_owner, {})[path] = None

    def _unindex(self, path: str, stat: Stat) -> None:
        parent = parent_of(path)
        siblings = self._children[parent]
        siblings.remove(name_of(path))
        if not siblings:
            del self._children[parent]
        if stat.ephemeral_owner:
            owned = self._ephemerals[stat.ephemeral_owner]
            del owned[path]
            if not owned:
                del self._ephemerals[stat.ephemeral_owner]
