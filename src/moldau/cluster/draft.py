"""Decides what a request changes, by ZooKeeper's rules.

A draft sees the tree as it will be when everything before it is committed. Operations are added one after another and
see each other; all share one zxid. When one is refused the draft is thrown away, and the tree knows nothing of it.

ZooKeeper keeps for every znode the number of children ever created, and takes sequence numbers from it; what it shows
as `cversion` is that number and the deletions. The first follows from the second and the number of children.
"""

from __future__ import annotations

from moldau.cluster.errors import (
    BadArguments,
    BadVersion,
    CoordinationError,
    MultiFailed,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotEmpty,
)
from moldau.cluster.paths import ROOT, parent_of, validate_path
from moldau.cluster.store import (
    ANY_VERSION,
    DATA_BYTES_MAX,
    Check,
    Create,
    Delete,
    EventType,
    Operation,
    OperationResult,
    SetData,
    Stat,
    WatchEvent,
    Znode,
)
from moldau.cluster.tree import Transaction, Tree


class Draft:
    def __init__(self, tree: Tree, session_id: int, now_ms: int) -> None:
        self._tree = tree
        self._zxid = tree.last_zxid + 1
        self._session_id = session_id
        self._now_ms = now_ms
        self._changes: dict[str, Znode | None] = {}
        self._events: list[WatchEvent] = []

    def transaction(self) -> Transaction:
        return Transaction(self._zxid, self._changes, tuple(self._events))

    def add_all(self, operations: tuple[Operation, ...]) -> list[OperationResult]:
        results: list[OperationResult] = []
        for index, operation in enumerate(operations):
            try:
                results.append(self.add(operation))
            except CoordinationError as error:
                raise MultiFailed(index, error) from error
        return results

    def add(self, operation: Operation) -> OperationResult:
        match operation:
            case Create():
                return self._create(operation)
            case SetData():
                return self._set(operation)
            case Delete():
                self._delete(operation)
            case Check():
                self._expect(operation.path, operation.version)
        return None

    def delete_ephemerals(self) -> None:
        """The session ends."""
        for path in self._tree.ephemerals_decided(self._session_id):
            self._remove(path)

    def _find(self, path: str) -> Znode | None:
        return self._changes[path] if path in self._changes else self._tree.find_decided(path)

    def _expect(self, path: str, version: int) -> Znode:
        znode = self._find(path)
        if znode is None:
            validate_path(path)
            raise NoNode(path)
        if version not in (ANY_VERSION, znode.stat.version):
            raise BadVersion(f"{path} has version {znode.stat.version}, not {version}")
        return znode

    def _create(self, create: Create) -> str:
        # A sequential path may end in a slash: the number is then the whole name.
        validate_path(create.path + "0" if create.mode.is_sequential else create.path)
        _check_size(create.path, create.data)
        if create.path == ROOT and not create.mode.is_sequential:
            raise NodeExists(ROOT)
        parent_path = parent_of(create.path)
        parent = self._find(parent_path)
        if parent is None:
            raise NoNode(f"{parent_path}, the parent of {create.path}")
        stat = parent.stat
        path = create.path
        if create.mode.is_sequential:
            children_created = (stat.cversion + stat.num_children) // 2
            path = f"{path}{children_created:010d}"
        if self._find(path) is not None:
            raise NodeExists(path)
        if stat.ephemeral_owner:
            raise NoChildrenForEphemerals(f"{parent_path} is ephemeral")
        self._put_parent(parent_path, parent, 1)
        self._changes[path] = Znode(
            create.data,
            Stat(
                czxid=self._zxid,
                mzxid=self._zxid,
                pzxid=self._zxid,
                ctime_ms=self._now_ms,
                mtime_ms=self._now_ms,
                version=0,
                cversion=0,
                ephemeral_owner=self._session_id if create.mode.is_ephemeral else 0,
                data_length=len(create.data or b""),
                num_children=0,
            ),
        )
        self._events.append(WatchEvent(EventType.CREATED, path))
        self._events.append(WatchEvent(EventType.CHILDREN_CHANGED, parent_path))
        return path

    def _set(self, operation: SetData) -> Stat:
        _check_size(operation.path, operation.data)
        znode = self._expect(operation.path, operation.version)
        stat = znode.stat._replace(
            mzxid=self._zxid,
            mtime_ms=self._now_ms,
            version=znode.stat.version + 1,
            data_length=len(operation.data or b""),
        )
        self._changes[operation.path] = Znode(operation.data, stat)
        self._events.append(WatchEvent(EventType.DATA_CHANGED, operation.path))
        return stat

    def _delete(self, operation: Delete) -> None:
        if operation.path == ROOT:
            raise BadArguments("the root cannot be deleted")
        znode = self._expect(operation.path, operation.version)
        if znode.stat.num_children:
            raise NotEmpty(f"{operation.path} has {znode.stat.num_children} children")
        self._remove(operation.path)

    def _remove(self, path: str) -> None:
        parent_path = parent_of(path)
        parent = self._find(parent_path)
        assert parent is not None, "a znode without a parent"
        self._put_parent(parent_path, parent, -1)
        self._changes[path] = None
        self._events.append(WatchEvent(EventType.DELETED, path))
        self._events.append(WatchEvent(EventType.CHILDREN_CHANGED, parent_path))

    def _put_parent(self, path: str, parent: Znode, children_more: int) -> None:
        stat = parent.stat
        self._changes[path] = parent._replace(
            stat=stat._replace(
                pzxid=self._zxid, cversion=stat.cversion + 1, num_children=stat.num_children + children_more
            )
        )


def _check_size(path: str, data: bytes | None) -> None:
    if data is not None and len(data) > DATA_BYTES_MAX:
        raise BadArguments(f"{path[:200]}: {len(data)} bytes of data, at most {DATA_BYTES_MAX} are allowed")
