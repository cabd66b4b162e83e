"""Topics: create, delete, list, describe, add partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from moldau.base.errors import MoldauError, UnsupportedVersion
from moldau.base.ids import uuid_from_text, uuid_to_text
from moldau.clients.admin.calls import Call
from moldau.clients.admin.operations import Operations
from moldau.clients.admin.results import Results, outcome
from moldau.clients.admin.routes import ControllerRoute, ask_metadata
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from moldau.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

BROKER_DEFAULT: Final = -1
# From these versions on: the broker's defaults for -1 (KIP-464), and deletion by id (KIP-516).
_KNOWS_DEFAULTS: Final = 4
_DELETES_BY_ID: Final = 6


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create: with numbers, or with the replicas of each partition. -1 is the broker's default."""

    name: str
    num_partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    replicas_assignments: Mapping[int, Iterable[int]] | None = None
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """A topic as it was created; what brokers before 2.4 do not tell is -1 or None."""

    name: str
    topic_id: str
    num_partitions: int
    replication_factor: int
    configs: Mapping[str, str | None] | None


@dataclass(frozen=True, slots=True)
class TopicListing:
    name: str
    topic_id: str
    is_internal: bool


@dataclass(frozen=True, slots=True)
class NewPartitions:
    """How many partitions a topic is to have in all, and the replicas of those that are new."""

    total_count: int
    new_assignments: Iterable[Iterable[int]] | None = None


class TopicOperations(Operations):
    """What Admin does with topics."""

    async def create_topics(
        self,
        topics: Iterable[NewTopic | str],
        *,
        validate_only: bool = False,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[str, CreatedTopic]:
        """Create topics; with `validate_only` say what would become of that.

        >>> created = admin.create_topics([NewTopic("sales", 3, configs={"retention.ms": "60000"}), "with-defaults"])
        >>> created["sales"].num_partitions
        3

        Whoever hears TOPIC_ALREADY_EXISTS after a connection broke may have created it with the first attempt.
        """
        wanted = {each.name: each for each in (NewTopic(one) if isinstance(one, str) else one for one in topics)}

        async def ask(call: Call, node_id: int | None, names: list[str]) -> Mapping[str, CreatedTopic | MoldauError]:
            version = await call.version_of(CreateTopicsRequest, node_id)
            request = CreateTopicsRequest(
                topics=[_creatable(call, wanted[name], version) for name in names],
                timeout_ms=call.broker_timeout_ms,
                validate_only=validate_only,
            )
            answer = await call.ask(request, node_id, version)
            return {
                each.name: outcome(
                    CreatedTopic(
                        each.name,
                        uuid_to_text(each.topic_id),
                        each.num_partitions,
                        each.replication_factor,
                        _created_configs(each),
                    ),
                    each.error_code,
                    each.error_message,
                    of=each.name,
                )
                for each in answer.topics
            }

        return await self._calls.each(
            "creating topics",
            wanted,
            ask,
            route=ControllerRoute(),
            timeout_s=timeout_s,
            raise_errors=raise_errors,
        )

    async def delete_topics(
        self,
        topics: Iterable[str] = (),
        *,
        topic_ids: Iterable[str] = (),
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[str, None]:
        """Delete topics by name or by id.

        >>> _ = admin.delete_topics(["orders"])
        """
        by_id = {each: uuid_from_text(each) for each in topic_ids}
        names = [name for name in topics if name not in by_id]

        async def ask(call: Call, node_id: int | None, items: list[str]) -> Mapping[str, MoldauError | None]:
            version = await call.version_of(DeleteTopicsRequest, node_id)
            request = DeleteTopicsRequest(timeout_ms=call.broker_timeout_ms)
            if version >= _DELETES_BY_ID:
                request.topics = [
                    DeleteTopicState(topic_id=by_id[item]) if item in by_id else DeleteTopicState(name=item)
                    for item in items
                ]
            elif by_id:
                raise call.unsupported("the broker deletes topics by name only")
            else:
                request.topic_names = items
            answer = await call.ask(request, node_id, version)
            ids = {uuid: text for text, uuid in by_id.items()}
            outcomes: dict[str, MoldauError | None] = {}
            for each in answer.responses:
                item = ids.get(each.topic_id) or each.name or ""
                outcomes[item] = outcome(None, each.error_code, each.error_message, of=item)
            return outcomes

        return await self._calls.each(
            "deleting topics",
            [*names, *by_id],
            ask,
            route=ControllerRoute(),
            timeout_s=timeout_s,
            raise_errors=raise_errors,
        )

    async def list_topics(
        self, *, list_internal: bool = False, timeout_s: float | None = None
    ) -> dict[str, TopicListing]:
        """All topics that this user may see, by name; those of Kafka itself only if asked for.

        >>> sorted(admin.list_topics())
        ['orders']
        """

        async def ask(call: Call, _node_id: int | None) -> dict[str, TopicListing]:
            answer = await ask_metadata(call)
            return {
                each.name: TopicListing(each.name, uuid_to_text(each.topic_id), each.is_internal)
                for each in answer.topics
                if each.name is not None and (list_internal or not each.is_internal)
            }

        return await self._calls.one("listing topics", ask, timeout_s=timeout_s)

    async def create_partitions(
        self,
        new_partitions: Mapping[str, NewPartitions | int],
        *,
        validate_only: bool = False,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[str, None]:
        """Add partitions to topics; the number is that of all partitions afterwards.

        >>> _ = admin.create_partitions({"orders": 6})
        """
        wanted = {name: NewPartitions(each) if isinstance(each, int) else each for name, each in new_partitions.items()}

        async def ask(call: Call, node_id: int | None, names: list[str]) -> Mapping[str, MoldauError | None]:
            request = CreatePartitionsRequest(
                topics=[_expanded(name, wanted[name]) for name in names],
                timeout_ms=call.broker_timeout_ms,
                validate_only=validate_only,
            )
            answer = await call.ask(request, node_id)
            return {
                each.name: outcome(None, each.error_code, each.error_message, of=each.name) for each in answer.results
            }

        return await self._calls.each(
            "creating partitions",
            wanted,
            ask,
            route=ControllerRoute(),
            timeout_s=timeout_s,
            raise_errors=raise_errors,
        )


def _created_configs(topic: CreatableTopicResult) -> dict[str, str | None] | None:
    """None if the user may not see them, or the broker does not tell."""
    if topic.configs is None or topic.num_partitions < 0:
        return None
    return {each.name: each.value for each in topic.configs}


def _creatable(call: Call, topic: NewTopic, version: int) -> CreatableTopic:
    assignments = [
        CreatableReplicaAssignment(partition_index=number, broker_ids=list(brokers))
        for number, brokers in (topic.replicas_assignments or {}).items()
    ]
    if (
        version < _KNOWS_DEFAULTS
        and not assignments
        and BROKER_DEFAULT
        in (
            topic.num_partitions,
            topic.replication_factor,
        )
    ):
        raise UnsupportedVersion(
            f"{call.what}: this broker has no defaults for topics (it takes Kafka 2.4); give num_partitions and "
            f"replication_factor of {topic.name}"
        )
    return CreatableTopic(
        name=topic.name,
        num_partitions=BROKER_DEFAULT if assignments else topic.num_partitions,
        replication_factor=BROKER_DEFAULT if assignments else topic.replication_factor,
        assignments=assignments,
        configs=[CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()],
    )


def _expanded(name: str, wanted: NewPartitions) -> CreatePartitionsTopic:
    assignments = None
    if wanted.new_assignments is not None:
        assignments = [CreatePartitionsAssignment(broker_ids=list(brokers)) for brokers in wanted.new_assignments]
    return CreatePartitionsTopic(name=name, count=wanted.total_count, assignments=assignments)
