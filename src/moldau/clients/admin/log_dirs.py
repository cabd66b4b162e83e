"""The log directories of brokers: what is where, and to move a replica from one to another (KIP-113)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, MoldauError
from moldau.clients.admin.calls import Call
from moldau.clients.admin.operations import Operations, by_topic
from moldau.clients.admin.results import Results, outcome
from moldau.clients.admin.routes import BrokerRoute
from moldau.clients.errors import check, error_code
from moldau.clients.records import TopicPartition
from moldau.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from moldau.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)


class TopicPartitionReplica(NamedTuple):
    """The replica of a partition on a broker."""

    topic: str
    partition: int
    broker_id: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} on broker {self.broker_id}"


@dataclass(frozen=True, slots=True)
class ReplicaInfo:
    """A replica's log; `is_future` if it is the copy that a move makes."""

    size: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True)
class LogDirDescription:
    """A directory; its error is None while it is online. Sizes of the volume are None before Kafka 3.3."""

    error: ApiError | None
    replica_infos: Mapping[TopicPartition, ReplicaInfo]
    total_bytes: int | None
    usable_bytes: int | None
    is_cordoned: bool


@dataclass(frozen=True, slots=True)
class ReplicaLogDirInfo:
    """Where a replica is, and where it is being moved; None where there is none."""

    current_replica_log_dir: str | None
    current_replica_offset_lag: int
    future_replica_log_dir: str | None
    future_replica_offset_lag: int


class LogDirOperations(Operations):
    """What Admin does with log directories."""

    async def describe_log_dirs(
        self, brokers: Iterable[int], *, timeout_s: float | None = None, raise_errors: bool = True
    ) -> Results[int, Mapping[str, LogDirDescription]]:
        """The directories of brokers, by path, with all replicas in them."""

        async def ask(
            call: Call, node_id: int | None, items: list[int]
        ) -> Mapping[int, Mapping[str, LogDirDescription] | MoldauError]:
            answer = await call.ask(DescribeLogDirsRequest(topics=None), node_id)
            assert isinstance(answer, DescribeLogDirsResponse)
            check(answer.error_code)
            described = {each.log_dir: _described(each) for each in answer.results}
            return dict.fromkeys(items, described)

        return await self._calls.each(
            "describing log directories",
            brokers,
            ask,
            route=BrokerRoute(lambda broker_id: broker_id),
            timeout_s=timeout_s,
            raise_errors=raise_errors,
        )

    async def describe_replica_log_dirs(
        self,
        replicas: Iterable[TopicPartitionReplica],
        *,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[TopicPartitionReplica, ReplicaLogDirInfo]:
        """The directory of each replica, and the one that it is being moved to."""

        async def ask(
            call: Call, node_id: int | None, items: list[TopicPartitionReplica]
        ) -> Mapping[TopicPartitionReplica, ReplicaLogDirInfo | MoldauError]:
            topics = [
                DescribableLogDirTopic(topic=topic, partitions=numbers)
                for topic, numbers in by_topic(TopicPartition(*item[:2]) for item in items).items()
            ]
            answer = await call.ask(DescribeLogDirsRequest(topics=topics), node_id)
            check(answer.error_code)
            described = {each.log_dir: _described(each) for each in answer.results}
            return {item: _where(item, described) for item in items}

        return await self._calls.each(
            "describing replicas",
            replicas,
            ask,
            route=BrokerRoute(lambda replica: replica.broker_id),
            timeout_s=timeout_s,
            raise_errors=raise_errors,
        )

    async def alter_replica_log_dirs(
        self,
        assignment: Mapping[TopicPartitionReplica, str],
        *,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[TopicPartitionReplica, None]:
        """Begin to move replicas to other directories of their brokers; `describe_replica_log_dirs` tells how far."""

        async def ask(
            call: Call, node_id: int | None, items: list[TopicPartitionReplica]
        ) -> Mapping[TopicPartitionReplica, MoldauError | None]:
            assert node_id is not None
            by_path: dict[str, list[TopicPartition]] = {}
            for item in items:
                by_path.setdefault(assignment[item], []).append(TopicPartition(*item[:2]))
            dirs = [
                AlterReplicaLogDir(
                    path=path,
                    topics=[
                        AlterReplicaLogDirTopic(name=topic, partitions=numbers)
                        for topic, numbers in by_topic(partitions).items()
                    ],
                )
                for path, partitions in by_path.items()
            ]
            answer = await call.ask(AlterReplicaLogDirsRequest(dirs=dirs), node_id)
            outcomes: dict[TopicPartitionReplica, MoldauError | None] = {}
            for topic in answer.results:
                for each in topic.partitions:
                    replica = TopicPartitionReplica(topic.topic_name, each.partition_index, node_id)
                    outcomes[replica] = outcome(None, each.error_code, of=replica)
            return outcomes

        return await self._calls.each(
            "moving replicas between directories",
            assignment,
            ask,
            route=BrokerRoute(lambda replica: replica.broker_id),
            timeout_s=timeout_s,
            raise_errors=raise_errors,
        )


def _described(result: DescribeLogDirsResult) -> LogDirDescription:
    code = error_code(result.error_code)
    return LogDirDescription(
        None if code is ErrorCode.NONE else ApiError(code, result.log_dir),
        {
            TopicPartition(topic.name, each.partition_index): ReplicaInfo(
                each.partition_size, each.offset_lag, each.is_future_key
            )
            for topic in result.topics
            for each in topic.partitions
        },
        result.total_bytes if result.total_bytes >= 0 else None,
        result.usable_bytes if result.usable_bytes >= 0 else None,
        result.is_cordoned,
    )


def _where(replica: TopicPartitionReplica, described: Mapping[str, LogDirDescription]) -> ReplicaLogDirInfo:
    partition = TopicPartition(replica.topic, replica.partition)
    current: tuple[str | None, int] = (None, -1)
    future: tuple[str | None, int] = (None, -1)
    for path, directory in described.items():
        info = directory.replica_infos.get(partition)
        if info is not None and info.is_future:
            future = (path, info.offset_lag)
        elif info is not None:
            current = (path, info.offset_lag)
    return ReplicaLogDirInfo(*current, *future)
