"""Creating, expanding and deleting topics: the writes by which a broker asks the controller for them.

A topic is created by its configuration and its assignment (in one change, so that neither is ever there alone),
expanded by a new assignment, and deleted by a mark below /admin/delete_topics. The controller watches these paths and
does the rest; `waits` tells when it has. Everything is checked before the write; what is wrong with one topic does not
concern the others of a request.

The texts are Kafka's, since people search for them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Final

from moldau.base.config.broker_config import BrokerConfig
from moldau.base.config.notices import log_notices
from moldau.base.config.topic_config import TopicConfig
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, ConfigError
from moldau.base.ids import random_uuid
from moldau.cluster.errors import BadArguments, BadVersion, MultiFailed, NodeExists, NoNode
from moldau.cluster.metadata_cache import MetadataCache
from moldau.cluster.metadata_waits import MetadataWaits
from moldau.cluster.store import CoordinationSession, Create, SetData, WatchEvent
from moldau.cluster.znodes.configs import encode_config
from moldau.cluster.znodes.layout import DELETE_TOPICS, TOPICS, config_path, delete_topic_path, topic_path
from moldau.cluster.znodes.topics import TopicAssignment
from moldau.controller.placement import Assignment, assign_replicas
from moldau.controller.replica_assignments import check_added_assignment, check_new_assignment
from moldau.controller.topic_names import NameCollisions, check_topic_name
from moldau.protocol.messages.create_partitions import CreatePartitionsTopic
from moldau.protocol.messages.create_topics import CreatableTopic

BROKERS_DEFAULT: Final = -1
SETTLING_MS_MAX: Final = 1_000
PARTITIONS_MAX: Final = 100_000
"""That one request may create: about as many as one assignment can hold in a znode."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic that was created, or could have been."""

    topic_id: bytes
    assignment: Assignment
    config: TopicConfig


Created = dict[str, NewTopic | ApiError]
Expanded = dict[str, Assignment | ApiError]
Deleted = dict[str, ApiError | None]


class TopicAdmin:
    """What the handlers of CreateTopics, CreatePartitions and DeleteTopics, and automatic creation, have in common."""

    def __init__(
        self,
        session: CoordinationSession,
        metadata: MetadataCache,
        *,
        config: Callable[[], BrokerConfig],
        random: Random,
    ) -> None:
        self._session = session
        self._metadata = metadata
        self._config = config
        self._random = random
        self.waits = MetadataWaits(metadata)

    async def create(self, topics: Iterable[CreatableTopic], *, validate_only: bool = False) -> Created:
        """Create topics of different names; what came of each."""
        await self.waits.until_known()
        existing = await self._session.children(TOPICS)
        marked = frozenset(await self._session.children(DELETE_TOPICS))
        collisions = NameCollisions(existing)
        known = set(existing)
        outcomes: Created = {}
        room = PARTITIONS_MAX
        for topic in topics:
            try:
                planned = outcomes[topic.name] = self._plan(topic, known, marked, collisions, room)
            except ApiError as error:
                outcomes[topic.name] = error
            else:
                room -= len(planned.assignment)
                known.add(topic.name)
                collisions.add(topic.name)
        if not validate_only:
            await asyncio.gather(*(self._write(name, outcomes) for name in outcomes))
        return outcomes

    def _plan(
        self,
        topic: CreatableTopic,
        existing: set[str],
        marked: frozenset[str],
        collisions: NameCollisions,
        room: int,
    ) -> NewTopic:
        if topic.name in self._metadata.topics:
            raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
        nulls = [entry.name for entry in topic.configs if entry.value is None]
        if nulls:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(nulls)}")
        assignment = self._assignment(topic, room)
        check_topic_name(topic.name)
        if topic.name in marked:
            raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' is marked for deletion.")
        if topic.name in existing:
            raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
        collisions.check(topic.name)
        try:
            config = self._config().topic({entry.name: entry.value for entry in topic.configs})
        except ConfigError as error:
            raise ApiError(ErrorCode.INVALID_CONFIG, str(error)) from error
        return NewTopic(random_uuid(self._random.randbytes), assignment, config)

    def _assignment(self, topic: CreatableTopic, room: int) -> Assignment:
        if topic.assignments:
            if topic.num_partitions != BROKERS_DEFAULT or topic.replication_factor != BROKERS_DEFAULT:
                raise ApiError(
                    ErrorCode.INVALID_REQUEST,
                    "Both numPartitions or replicationFactor and replicasAssignments were set. "
                    "Both cannot be used at the same time.",
                )
            return check_new_assignment((one.partition_index, one.broker_ids) for one in topic.assignments)
        config = self._config()
        partitions, replication_factor = topic.num_partitions, topic.replication_factor
        if partitions == BROKERS_DEFAULT:
            partitions = config.integer("num.partitions")
        if replication_factor == BROKERS_DEFAULT:
            replication_factor = config.integer("default.replication.factor")
        _check_room(partitions, room)
        racks = self._racks()
        start, shift = (self._random.randrange(max(len(racks), 1)) for _ in range(2))
        return assign_replicas(racks, partitions, replication_factor, start=start, shift=shift)

    def _racks(self) -> dict[int, str | None]:
        return {broker.broker_id: broker.rack for broker in self._metadata.brokers.values()}

    async def _write(self, name: str, outcomes: Created) -> None:
        """The configuration comes first: whoever sees the topic must be able to read it."""
        topic = outcomes[name]
        if isinstance(topic, ApiError):
            return
        path = config_path("topics", name)
        config = encode_config({entry: str(topic.config.layer.text_of(entry)) for entry in topic.config.layer.entries})
        create = Create(topic_path(name), TopicAssignment(topic.topic_id, topic.assignment).encode())
        try:
            try:
                await self._session.multi([Create(path, config), create])
            except MultiFailed as failed:
                if not (failed.index == 0 and isinstance(failed.error, NodeExists)):
                    raise
                # A configuration that a deleted topic, or a tool, has left behind.
                await self._session.multi([SetData(path, config), create])
        except MultiFailed as failed:
            if isinstance(failed.error, NodeExists):
                outcomes[name] = ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
            elif isinstance(failed.error, BadArguments):
                outcomes[name] = _too_large(name)
            else:
                raise
        else:
            log_notices(topic.config.schema, topic.config.layer)
            logger.info("creating topic %s with partitions %s", name, topic.assignment)

    async def expand(self, topics: Iterable[CreatePartitionsTopic], *, validate_only: bool = False) -> Expanded:
        """Add partitions to topics; the new partitions of each."""
        await self.waits.until_known()
        marked = frozenset(await self._session.children(DELETE_TOPICS))
        outcomes: Expanded = {}
        for topic in topics:
            if topic.name in marked:
                text = "The topic is queued for deletion."
                outcomes[topic.name] = ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, text)
                continue
            try:
                outcomes[topic.name] = await self._expand(topic, validate_only)
            except ApiError as error:
                outcomes[topic.name] = error
        return outcomes

    async def _expand(self, topic: CreatePartitionsTopic, validate_only: bool) -> Assignment:
        unknown = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{topic.name}' does not exist.")
        check_topic_name(topic.name)
        try:
            znode = await self._session.get(topic_path(topic.name))
        except NoNode:
            raise unknown from None
        current = TopicAssignment.decode(topic.name, znode.data)
        if current.adding_replicas or current.removing_replicas:
            raise ApiError(
                ErrorCode.REASSIGNMENT_IN_PROGRESS,
                f"A partition reassignment is in progress for the topic '{topic.name}'.",
            )
        if not current.partitions:
            raise unknown
        added = self._new_partitions(topic, dict(current.partitions))
        if not validate_only:
            expanded = TopicAssignment(current.topic_id, {**current.partitions, **added})
            try:
                await self._session.set(topic_path(topic.name), expanded.encode(), znode.stat.version)
            except (BadVersion, NoNode):
                text = f"The topic '{topic.name}' was changed by somebody else meanwhile: try again."
                raise ApiError(ErrorCode.REASSIGNMENT_IN_PROGRESS, text) from None
            except BadArguments:
                raise _too_large(topic.name) from None
            logger.info("adding partitions %s to topic %s", added, topic.name)
        return added

    def _new_partitions(self, topic: CreatePartitionsTopic, existing: Assignment) -> Assignment:
        more = topic.count - len(existing)
        if more < 0:
            raise ApiError(
                ErrorCode.INVALID_PARTITIONS,
                f"Topic currently has {len(existing)} partitions, which is higher than the requested {topic.count}.",
            )
        if more == 0:
            raise ApiError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {len(existing)} partitions.")
        _check_room(more, PARTITIONS_MAX)
        racks = self._racks()
        first_replicas = existing[min(existing)]
        if topic.assignments is not None:
            given: Sequence[Sequence[int]] = [one.broker_ids for one in topic.assignments]
            return check_added_assignment(given, more, len(existing), len(first_replicas), racks.keys())
        # The ring goes on where it began, as far as that is known: at the first replica of the first partition.
        ring = sorted(racks)
        start = next((place for place, broker in enumerate(ring) if broker >= first_replicas[0]), 0)
        return assign_replicas(
            racks, more, len(first_replicas), start=start, shift=start, first_partition=len(existing)
        )

    async def delete(self, topics: Iterable[str]) -> Deleted:
        """Mark topics for deletion; one that is marked already counts as marked now."""
        outcomes: Deleted = dict.fromkeys(topics)
        await asyncio.gather(*(self._delete(name, outcomes) for name in outcomes))
        return outcomes

    async def _delete(self, name: str, outcomes: Deleted) -> None:
        if await self._session.exists(topic_path(name)) is None:
            text = f"Topic `{name}` to delete does not exist"
            outcomes[name] = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)
            return
        try:
            await self._session.create(delete_topic_path(name))
        except NodeExists:
            return
        logger.info("deleting topic %s", name)

    async def settle_deletions(self, topics: Iterable[str], timeout_ms: int) -> None:
        """Wait until topics that nobody is told of any more are gone from the store too, but not for long.

        Until then one of the same name cannot be created, which surprises who has just deleted it. While a broker with
        a replica is down it takes until that is back.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(min(timeout_ms, SETTLING_MS_MAX) / 1000):
                for topic in topics:
                    await self._until_unmarked(topic)

    async def _until_unmarked(self, topic: str) -> None:
        changed = asyncio.Event()

        def tell(_event: WatchEvent) -> None:
            changed.set()

        while await self._session.exists(delete_topic_path(topic), tell):
            await changed.wait()
            changed.clear()


def _check_room(partitions: int, room: int) -> None:
    if partitions > room:
        raise ApiError(
            ErrorCode.INVALID_PARTITIONS,
            f"Number of partitions must be at most {room}, not {partitions}: a request may create {PARTITIONS_MAX}.",
        )


def _too_large(topic: str) -> ApiError:
    text = f"The assignment or the configuration of topic '{topic}' is too large for the coordination store."
    return ApiError(ErrorCode.INVALID_PARTITIONS, text)
