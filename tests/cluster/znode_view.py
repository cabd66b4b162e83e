"""What is in a cluster's ZooKeeper, read by kazoo and the JSON of the standard library: none of our code is in it."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any, NamedTuple, Self

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

NOBODY = -1


class PartitionState(NamedTuple):
    leader: int
    isr: list[int]


class ZnodeView:
    def __init__(self, connect: str) -> None:
        self._client = KazooClient(connect, timeout=30)

    def __enter__(self) -> Self:
        self._client.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.stop()
        self._client.close()

    def read(self, path: str) -> Any:
        """The JSON at a path; None if there is nothing."""
        try:
            data, _ = self._client.get(path)
        except NoNodeError:
            return None
        return json.loads(data) if data else None

    def text(self, path: str) -> str:
        """The text at a path; empty if there is nothing."""
        try:
            data, _ = self._client.get(path)
        except NoNodeError:
            return ""
        return bytes(data).decode()

    def owner(self, path: str) -> int:
        """The session that an ephemeral belongs to; 0 if there is none."""
        stat = self._client.exists(path)
        return 0 if stat is None else int(stat.ephemeralOwner)

    def names(self, path: str) -> list[str]:
        try:
            return sorted(self._client.get_children(path))
        except NoNodeError:
            return []

    def brokers(self) -> list[int]:
        return sorted(map(int, self.names("/brokers/ids")))

    def controller(self) -> int:
        content = self.read("/controller")
        return NOBODY if content is None else int(content["brokerid"])

    def controller_epoch(self) -> int:
        return int(self.read("/controller_epoch") or 0)

    def unseat_controller(self) -> None:
        """As an operator does who wants another one: delete its znode."""
        self._client.delete("/controller")

    def create(self, path: str, content: object) -> None:
        self._client.create(path, json.dumps(content).encode())

    def write(self, path: str, content: object) -> None:
        self._client.set(path, json.dumps(content).encode())

    def create_sequential(self, prefix: str, content: object) -> None:
        self._client.create(prefix, json.dumps(content).encode(), sequence=True)

    def partitions(self, topic: str) -> dict[int, PartitionState]:
        states = {}
        for name in self.names(f"/brokers/topics/{topic}/partitions"):
            content = self.read(f"/brokers/topics/{topic}/partitions/{name}/state")
            if content is not None:
                states[int(name)] = PartitionState(content["leader"], content["isr"])
        return states

    def is_in_sync(self, topic: str, partitions: int, replicas: int) -> bool:
        """Whether every partition has a leader and all its replicas in sync."""
        states = self.partitions(topic)
        led = [state for state in states.values() if state.leader != NOBODY and len(state.isr) == replicas]
        return len(led) == len(states) == partitions

    def leaders(self, topic: str) -> set[int]:
        return {state.leader for state in self.partitions(topic).values()}
