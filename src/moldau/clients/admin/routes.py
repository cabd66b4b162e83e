"""Who is in charge: the controller, a coordinator, the leader of a partition, a broker that is named."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, MoldauError, UnsupportedVersion
from moldau.clients.admin.calls import Call, Route
from moldau.clients.admin.results import Item
from moldau.clients.network.coordinators import CoordinatorKind
from moldau.clients.network.metadata import ClusterMetadata
from moldau.clients.records import TopicPartition
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from moldau.protocol.schema import Uuid

# Before this version of Metadata, a question about a topic may create it.
_MAY_FORBID_CREATION: Final = 4
# A topic that was created a moment ago is not known to every broker; one that is still unknown after so many rounds
# does not exist.
_UNKNOWN_TOPIC_ROUNDS: Final = 4


class ControllerRoute(Route[Item]):
    """All to the controller; after a refusal it is looked for again."""

    def __init__(self) -> None:
        self._stale = False

    async def nodes(self, call: Call, items: list[Item], /) -> Mapping[Item, int | MoldauError | None]:
        metadata = call.cluster.metadata
        if self._stale or metadata.controller_id not in metadata.nodes:
            metadata = await call.cluster.update(call.left_ms)
        if metadata.controller_id not in metadata.nodes:
            raise ApiError(ErrorCode.BROKER_NOT_AVAILABLE, "the cluster has no controller at the moment")
        self._stale = False
        return dict.fromkeys(items, metadata.controller_id)

    def failed(self, _call: Call, _item: Item, /) -> None:
        self._stale = True


class BrokerRoute(Route[Item]):
    """Each to the broker that it names; one that is not there is waited for, since it may be restarting."""

    _absent = ErrorCode.BROKER_NOT_AVAILABLE

    def __init__(self, broker_of: Callable[[Item], int]) -> None:
        self._broker_of = broker_of
        self._stale = False

    async def nodes(self, call: Call, items: list[Item], /) -> Mapping[Item, int | MoldauError | None]:
        nodes = call.cluster.metadata.nodes
        if self._stale or any(self._broker_of(item) not in nodes for item in items):
            nodes = (await call.cluster.update(call.left_ms)).nodes
            self._stale = False
        return {item: self._known(self._broker_of(item), nodes) for item in items}

    def _known(self, broker_id: int, nodes: Mapping[int, object]) -> int | MoldauError:
        if broker_id in nodes:
            return broker_id
        return ApiError(self._absent, f"there is no broker {broker_id}; known: {sorted(nodes)}")

    def failed(self, _call: Call, _item: Item, /) -> None:
        self._stale = True


class EveryBrokerRoute(BrokerRoute[int]):
    """Each broker's id to that broker; one that has left the cluster meanwhile is not waited for."""

    _absent = ErrorCode.BROKER_ID_NOT_REGISTERED

    def __init__(self) -> None:
        super().__init__(lambda broker_id: broker_id)


class CoordinatorRoute(Route[str]):
    """Each group or transactional id to its coordinator."""

    def __init__(self, kind: CoordinatorKind) -> None:
        self._kind = kind

    async def nodes(self, call: Call, items: list[str], /) -> Mapping[str, int | MoldauError | None]:
        found: dict[str, int | MoldauError | None] = {}
        async with asyncio.TaskGroup() as group:
            for item in items:
                group.create_task(self._find(call, item, found))
        return found

    async def _find(self, call: Call, key: str, found: dict[str, int | MoldauError | None]) -> None:
        try:
            found[key] = await call.cluster.coordinator(self._kind, key, call.left_ms)
        except UnsupportedVersion:  # from 0.11 on there are other coordinators than those of groups
            found[key] = call.unsupported("the broker knows no transactions")
        except MoldauError as error:
            found[key] = error

    def failed(self, call: Call, item: str, /) -> None:
        call.cluster.coordinator_lost(self._kind, item)


class CoordinatorOf(Route[Item]):
    """All to the coordinator of one group or transactional id."""

    def __init__(self, kind: CoordinatorKind, key: str) -> None:
        self._kind = kind
        self._key = key

    async def nodes(self, call: Call, items: list[Item], /) -> Mapping[Item, int | MoldauError | None]:
        return dict.fromkeys(items, await call.cluster.coordinator(self._kind, self._key, call.left_ms))

    def failed(self, call: Call, _item: Item, /) -> None:
        call.cluster.coordinator_lost(self._kind, self._key)


class LeaderRoute(Route[TopicPartition]):
    """Each partition to its leader, looked up for this call alone and again after each failure."""

    def __init__(self) -> None:
        self._leaders = ClusterMetadata()
        self._rounds = 0

    async def nodes(
        self, call: Call, items: list[TopicPartition], /
    ) -> Mapping[TopicPartition, int | MoldauError | None]:
        if any(self._leaders.leader(item) is None for item in items):
            self._leaders = await topics_metadata(call, {item.topic for item in items})
            self._rounds += 1
        return {item: self._leader(item) for item in items}

    def _leader(self, item: TopicPartition) -> int | MoldauError:
        topic = self._leaders.topics.get(item.topic)
        known = self._leaders.leader(item)
        if known is not None:
            return known.leader
        error = topic.error if topic is not None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if topic is not None and error is ErrorCode.NONE:
            exists = self._leaders.partition(*item) is not None
            error = ErrorCode.LEADER_NOT_AVAILABLE if exists else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            if self._rounds < _UNKNOWN_TOPIC_ROUNDS:
                error = ErrorCode.LEADER_NOT_AVAILABLE
            return ApiError(error, f"there is no {item}")
        return ApiError(error, f"{item} has no leader" if error is ErrorCode.LEADER_NOT_AVAILABLE else str(item))

    def failed(self, _call: Call, _item: TopicPartition, /) -> None:
        self._leaders = ClusterMetadata()


async def topics_metadata(call: Call, names: Iterable[str]) -> ClusterMetadata:
    """What any broker knows about topics; they are not created, and their brokers can be asked afterwards."""
    answer = await ask_metadata(call, names=names)
    return ClusterMetadata().with_answer(answer)


async def ask_metadata(
    call: Call,
    *,
    names: Iterable[str] | None = None,
    ids: Iterable[Uuid] = (),
    include_authorized_operations: bool = False,
) -> MetadataResponse:
    """Metadata of topics by name or id, or of all if there are no names and no ids; never creates one."""
    version = await call.version_of(MetadataRequest)
    topics = [MetadataRequestTopic(name=name) for name in names or ()]
    topics += [MetadataRequestTopic(name=None, topic_id=each) for each in ids]
    if version < _MAY_FORBID_CREATION and topics:
        answer = await call.ask(MetadataRequest(topics=None), version=version)
        wanted = {each.name for each in topics}
        answer.topics = [each for each in answer.topics if each.name in wanted]
    else:
        everything = names is None and not topics
        request = MetadataRequest(
            topics=None if everything else topics,
            allow_auto_topic_creation=version < _MAY_FORBID_CREATION,
            include_topic_authorized_operations=include_authorized_operations,
        )
        answer = await call.ask(request)
    assert isinstance(answer, MetadataResponse)
    call.cluster.nodes_named(answer.brokers)
    return answer
