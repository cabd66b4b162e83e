"""Which broker coordinates a group or a transactional id: asked once, kept until it turns out to be wrong."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.clients.errors import check
from moldau.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

if TYPE_CHECKING:
    from moldau.clients.network.cluster import Cluster

# From this version on one request asks for several keys (KIP-699).
_SEVERAL_KEYS = 4


class CoordinatorKind(IntEnum):
    """The protocol's key types."""

    GROUP = 0
    TRANSACTION = 1


class Coordinators:
    """The coordinators that a client knows."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._known: dict[tuple[CoordinatorKind, str], int] = {}

    async def find(self, kind: CoordinatorKind, key: str, timeout_ms: float) -> int:
        known = self._known.get((kind, key))
        if known is not None:
            return known

        async def ask() -> Coordinator:
            found = _found(await self._ask(kind, key), key)
            check(found.error_code, found.error_message)
            return found

        what = f"finding the coordinator of {kind.name.lower()} {key}"
        found = await self._cluster.retrying(ask, timeout_ms=timeout_ms, what=what)
        self._cluster.nodes_named([found])
        self._known[kind, key] = found.node_id
        return found.node_id

    def forget(self, kind: CoordinatorKind, key: str) -> None:
        self._known.pop((kind, key), None)

    async def _ask(self, kind: CoordinatorKind, key: str) -> FindCoordinatorResponse:
        connection = await self._cluster.any_connection()
        version = connection.version_of(FindCoordinatorRequest)
        if version >= _SEVERAL_KEYS:
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
        else:
            request = FindCoordinatorRequest(key_type=kind, key=key)
        answer = await connection.request(request, version)
        assert isinstance(answer, FindCoordinatorResponse)
        return answer


def _found(answer: FindCoordinatorResponse, key: str) -> Coordinator:
    if answer.coordinators:
        return answer.coordinators[0]
    if not answer.error_code and answer.node_id < 0:
        raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"no coordinator of {key}")
    return Coordinator(
        key=key,
        node_id=answer.node_id,
        host=answer.host,
        port=answer.port,
        error_code=answer.error_code,
        error_message=answer.error_message,
    )
