"""A cluster without sockets: each request is answered by a function, in a version that the test says.

Requests and answers are encoded and decoded in that version, so what a version cannot carry does not get through.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar, cast

from moldau.base.clock import SystemClock
from moldau.base.config.schema import Scope
from moldau.base.errors import UnsupportedVersion
from moldau.clients.admin.admin import Admin
from moldau.clients.admin.calls import AdminCalls
from moldau.clients.network.cluster import Cluster
from moldau.clients.network.coordinators import CoordinatorKind
from moldau.clients.network.metadata import ClusterMetadata, Node, NodeEndpoint
from moldau.clients.settings import client_settings
from moldau.net.backoff import Backoff
from moldau.protocol.api import ApiKey, response_class
from moldau.protocol.codec import decode, encode
from moldau.protocol.schema import Message

Result = TypeVar("Result")
NODES = {number: Node(number, f"host-{number}", 9092) for number in (1, 2, 3)}


class Asked(NamedTuple):
    """A request as the broker got it."""

    request: Any
    node_id: int | None
    version: int


class ScriptedCluster:
    """What the admin client uses of `Cluster`; `answer(asked)` gives or raises what a broker would."""

    def __init__(self, answer: Callable[[Asked], Message], **settings: object) -> None:
        given = {"bootstrap.servers": "localhost:9092", "request.timeout.ms": 10}
        checked = client_settings(Scope.ADMIN, given, settings)
        self.config = checked.config
        self.clock = SystemClock()
        self.backoff = Backoff(1, 1)
        self.request_timeout_ms = 5_000
        self.metadata = ClusterMetadata("cluster", 1, NODES)
        self.controllers = [1]
        self.coordinators: dict[str, list[int]] = {}
        self.versions: dict[type[Message], int | None] = {}
        self.asked: list[Asked] = []
        self._answer = answer

    def version_of(self, request: type[Message]) -> int:
        version = self.versions.get(request, request.VERSIONS.high)
        if version is None:
            raise UnsupportedVersion(f"the broker does not support {ApiKey(request.KEY).title}")
        return version

    async def any_connection(self) -> ScriptedCluster:
        return self

    async def connection(self, _node_id: int) -> ScriptedCluster:
        return self

    async def request(self, request: Message, node_id: int | None = None, *, version: int | None = None) -> Any:
        used = self.version_of(type(request)) if version is None else version
        asked = Asked(decode(type(request), used, encode(request, used)), node_id, used)
        self.asked.append(asked)
        await asyncio.sleep(0)
        answer = self._answer(asked)
        cls = response_class(ApiKey(request.KEY))
        assert isinstance(answer, cls)
        return decode(cls, used, encode(answer, used))

    async def update(self, _timeout_ms: float) -> ClusterMetadata:
        if len(self.controllers) > 1:
            self.controllers.pop(0)
        self.metadata = replace(self.metadata, controller_id=self.controllers[0])
        return self.metadata

    def request_update(self) -> None:
        pass

    def node(self, node_id: int) -> Node:
        return NODES[node_id]

    def nodes_named(self, endpoints: Iterable[NodeEndpoint]) -> None:
        self.metadata = self.metadata.with_nodes(endpoints)

    async def coordinator(self, _kind: CoordinatorKind, key: str, _timeout_ms: float) -> int:
        return self.coordinators.get(key, [1])[0]

    def coordinator_lost(self, _kind: CoordinatorKind, key: str) -> None:
        known = self.coordinators.get(key, [1])
        if len(known) > 1:
            known.pop(0)

    def run(self, work: Callable[[Admin], Coroutine[Any, Any, Result]]) -> Result:
        """Do something with an admin client of this cluster."""
        admin = Admin.__new__(Admin)
        admin._calls = AdminCalls(cast(Cluster, self))
        return asyncio.run(work(admin))
