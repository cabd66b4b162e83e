"""Our operations as kazoo's requests, and its answers and errors as ours.

kazoo's own methods refuse null data in transactions and change what they are given, so requests are made directly.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from kazoo import exceptions
from kazoo.protocol import serialization
from kazoo.security import ACL, Id

from moldau.cluster.errors import (
    BadArguments,
    BadVersion,
    ConnectionLoss,
    CoordinationError,
    MultiFailed,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NotAuthorized,
    NotEmpty,
    SessionExpired,
    StoreUnavailable,
)
from moldau.cluster.store import (
    DATA_BYTES_MAX,
    Acl,
    Check,
    Create,
    CreateMode,
    Delete,
    Operation,
    OperationResult,
    SetData,
    Stat,
)
from moldau.cluster.zookeeper.ensemble import Ensemble

_FLAGS = {
    CreateMode.PERSISTENT: 0,
    CreateMode.EPHEMERAL: 1,
    CreateMode.PERSISTENT_SEQUENTIAL: 2,
    CreateMode.EPHEMERAL_SEQUENTIAL: 3,
}
_ACTIONS = {"r": 1, "w": 2, "c": 4, "d": 8, "a": 16}
_ERRORS: dict[type[Exception], type[CoordinationError]] = {
    exceptions.NoNodeError: NoNode,
    exceptions.NodeExistsError: NodeExists,
    exceptions.BadVersionError: BadVersion,
    exceptions.NotEmptyError: NotEmpty,
    exceptions.NoChildrenForEphemeralsError: NoChildrenForEphemerals,
    exceptions.BadArgumentsError: BadArguments,
    exceptions.MarshallingError: BadArguments,
    exceptions.NoAuthError: NotAuthorized,
    exceptions.InvalidACLError: NotAuthorized,
    exceptions.AuthFailedError: StoreUnavailable,
    exceptions.ConnectionLoss: ConnectionLoss,
    exceptions.OperationTimeoutError: ConnectionLoss,
    exceptions.SessionExpiredError: SessionExpired,
    exceptions.ConnectionClosedError: SessionExpired,
}
_NOT_REACHED = (exceptions.RolledBackError, exceptions.RuntimeInconsistency)
_OPERATION_BYTES = 128
"""What a request takes beside paths and data, at most."""


@dataclass(frozen=True, slots=True)
class SetWatches:
    """Take watches along to another connection; changes after `last_zxid` are told at once. kazoo has no such request.

    Those of `absent` wait for a znode that does not exist.
    """

    last_zxid: int
    data: Sequence[str]
    absent: Sequence[str]
    children: Sequence[str]

    type: ClassVar = 101

    def serialize(self) -> bytes:
        paths = (self.data, self.absent, self.children)
        return struct.pack(">q", self.last_zxid) + b"".join(map(_strings, paths))

    @staticmethod
    def deserialize(_answer: bytes, _offset: int) -> bool:
        return True


def _strings(paths: Sequence[str]) -> bytes:
    encoded = [path.encode() for path in paths]
    return struct.pack(">i", len(encoded)) + b"".join(struct.pack(">i", len(path)) + path for path in encoded)


def request_of(operation: Operation, ensemble: Ensemble) -> Any:
    """What asks for a write; for a `Check` only a part of a transaction."""
    path = ensemble.inside(operation.path)
    match operation:
        case Create(_, data, mode, acl):
            return serialization.Create(path, data, _acl(acl), _FLAGS[mode])
        case SetData(_, data, version):
            return serialization.SetData(path, data, version)
        case Delete(_, version):
            return serialization.Delete(path, version)
        case Check(_, version):
            return serialization.CheckVersion(path, version)


def _acl(acl: Acl) -> list[Any]:
    return [
        ACL(sum(_ACTIONS[action] for action in permission.actions), Id(permission.scheme, permission.identity))
        for permission in acl
    ]


def transaction_of(operations: Sequence[Operation], ensemble: Ensemble) -> Any:
    return serialization.Transaction([request_of(operation, ensemble) for operation in operations])


def check_size(operations: Sequence[Operation], ensemble: Ensemble) -> None:
    """A server closes the connection of whoever sends too much, which must not be tried again and again."""
    total = 0
    for operation in operations:
        data = operation.data if isinstance(operation, Create | SetData) else None
        total += _OPERATION_BYTES + len(ensemble.chroot) + 3 * len(operation.path) + len(data or b"")
    if total > DATA_BYTES_MAX:
        paths = ", ".join(operation.path[:100] for operation in operations[:3])
        raise BadArguments(f"{paths}: a request of {total} bytes; ZooKeeper takes {DATA_BYTES_MAX}")


def stat_of(stat: Any) -> Stat:
    return Stat(
        czxid=stat.czxid,
        mzxid=stat.mzxid,
        pzxid=stat.pzxid,
        ctime_ms=stat.ctime,
        mtime_ms=stat.mtime,
        version=stat.version,
        cversion=stat.cversion,
        ephemeral_owner=stat.ephemeralOwner,
        data_length=stat.dataLength,
        num_children=stat.numChildren,
    )


def error_of(error: Exception, what: str) -> CoordinationError:
    found = next((ours for theirs, ours in _ERRORS.items() if isinstance(error, theirs)), CoordinationError)
    return found(f"{what}: {type(error).__name__} {error}".rstrip() if found is CoordinationError else what)


def results_of(answers: Sequence[Any], operations: Sequence[Operation], ensemble: Ensemble) -> list[OperationResult]:
    """What came of a transaction; MultiFailed if one of its operations was refused."""
    for index, answer in enumerate(answers):
        if isinstance(answer, Exception) and not isinstance(answer, _NOT_REACHED):
            raise MultiFailed(index, error_of(answer, operations[index].path))
    return [_result(answer, operation, ensemble) for answer, operation in zip(answers, operations, strict=True)]


def _result(answer: Any, operation: Operation, ensemble: Ensemble) -> OperationResult:
    match operation:
        case Create():
            return ensemble.outside(answer)
        case SetData():
            return stat_of(answer)
    return None
