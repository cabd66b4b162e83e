"""The coordination store's rules once more, as plainly as they can be said: the oracle of the property test.

No zxids, no layers, no queue: every operation copies the whole tree, changes the copy and keeps it if nothing failed.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

from moldau.cluster.store import Check, Create, Delete, Operation, SetData


@dataclass
class ModelZnode:
    data: bytes | None
    owner: int
    version: int = 0
    children_created: int = 0
    children_deleted: int = 0


@dataclass
class Model:
    znodes: dict[str, ModelZnode] = field(default_factory=lambda: {"/": ModelZnode(None, 0)})

    def children(self, path: str) -> list[str]:
        prefix = path.rstrip("/") + "/"
        below = [other[len(prefix) :] for other in self.znodes if other.startswith(prefix) and other != "/"]
        return sorted(name for name in below if "/" not in name)

    def carry_out(self, session: int, operations: list[Operation]) -> tuple[int, str] | list[str]:
        """The index and the error's name of the operation that fails, or the paths in their final form."""
        before = copy.deepcopy(self.znodes)
        paths = []
        for index, operation in enumerate(operations):
            outcome = self._apply(session, operation)
            if not outcome.startswith("/"):
                self.znodes = before
                return index, outcome
            paths.append(outcome)
        return paths

    def end(self, session: int) -> None:
        for path in [path for path, znode in self.znodes.items() if znode.owner == session]:
            self._apply(session, Delete(path))

    def _apply(self, session: int, operation: Operation) -> str:
        if isinstance(operation, Create):
            return self._create(session, operation)
        znode = self.znodes.get(operation.path)
        if znode is None:
            return "NoNode"
        if operation.version not in (-1, znode.version):
            return "BadVersion"
        if isinstance(operation, SetData):
            znode.data = operation.data
            znode.version += 1
        elif isinstance(operation, Delete):
            if self.children(operation.path):
                return "NotEmpty"
            del self.znodes[operation.path]
            self.znodes[_parent(operation.path)].children_deleted += 1
        else:
            assert isinstance(operation, Check)
        return operation.path

    def _create(self, session: int, create: Create) -> str:
        parent = self.znodes.get(_parent(create.path))
        if parent is None:
            return "NoNode"
        path = create.path
        if create.mode.is_sequential:
            path += str(parent.children_created).zfill(10)
        if path in self.znodes:
            return "NodeExists"
        if parent.owner:
            return "NoChildrenForEphemerals"
        parent.children_created += 1
        self.znodes[path] = ModelZnode(create.data, session if create.mode.is_ephemeral else 0)
        return path


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"
