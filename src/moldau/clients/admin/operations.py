"""What the families of operations share: the calls, enumerations of the protocol, and requests by topic."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import IntEnum
from typing import Self

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.clients.admin.calls import AdminCalls, Call
from moldau.clients.admin.results import Results, Value
from moldau.clients.admin.routes import EveryBrokerRoute
from moldau.clients.records import TopicPartition

SomePartition = TopicPartition | tuple[str, int]


class ProtocolEnum(IntEnum):
    """Numbers of the protocol, by Kafka's names; a number from a newer Kafka is UNKNOWN."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        return cls(0) if isinstance(value, int) and value else None


class Operations:
    """The base of a family; `Admin` is all of them."""

    _calls: AdminCalls

    async def _ask_all_brokers(
        self, what: str, ask: Callable[[Call, int], Awaitable[Value]], timeout_s: float | None
    ) -> Results[int, Value]:
        """Ask every broker of the cluster; one that is in it and cannot be asked is a failure of the call."""

        async def asked(call: Call, node_id: int | None, items: list[int]) -> Mapping[int, Value]:
            assert node_id is not None
            return {item: await ask(call, node_id) for item in items}

        call = self._calls.call(what, timeout_s)
        brokers = sorted((await self._calls.cluster.update(call.left_ms)).nodes)
        results = await self._calls.each(
            what, brokers, asked, route=EveryBrokerRoute(), timeout_s=call.left_ms / 1000, raise_errors=False
        )
        for error in results.errors.values():
            if not (isinstance(error, ApiError) and error.code is ErrorCode.BROKER_ID_NOT_REGISTERED):
                raise error
        return Results(results.succeeded)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """The numbers of partitions, by topic, as most requests want them."""
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return topics


def checked_partitions(partitions: Iterable[SomePartition]) -> list[TopicPartition]:
    """Partitions as given, also as plain pairs."""
    return [TopicPartition(*each) for each in partitions]
