"""Topics and partitions appear in the store, written by whoever served the request, and get their leaders here."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from moldau.base.ids import random_uuid
from moldau.cluster.errors import CoordinationError, MalformedZnode
from moldau.cluster.store import SetData
from moldau.cluster.znodes.layout import TOPICS, topic_path
from moldau.cluster.znodes.topics import TopicAssignment
from moldau.controller.assignment import ReplicaAssignment
from moldau.controller.context import Partition
from moldau.controller.leader_selection import Reason
from moldau.controller.partition_states import PartitionState
from moldau.controller.replica_states import ReplicaState

if TYPE_CHECKING:
    from moldau.controller.term import Term

logger = logging.getLogger(__name__)


async def topics_changed(term: Term) -> None:
    """The list under /brokers/topics is not what it was."""
    context = term.context
    topics = await term.store.session.children(TOPICS, term.watcher)
    for topic in context.topics.keys() - set(topics):
        logger.warning("topic %s was taken out of the store by somebody else", topic)
        context.remove_topic(topic)
    added = await add_topics(term, [topic for topic in topics if topic not in context.topics])
    if added:
        logger.info("topics created: %d, with %d partitions", len({topic for topic, _index in added}), len(added))
        await _create_partitions(term, added)


async def add_topics(term: Term, topics: Iterable[str]) -> list[Partition]:
    """Read topics into the context, with a watch on each; their partitions."""
    found = await _read_topics(term, topics)
    without_id = {topic: replace(each, topic_id=random_uuid()) for topic, each in found.items() if not each.topic_id}
    if without_id:
        found.update(await _give_ids(term, without_id))
    added: list[Partition] = []
    for topic, each in found.items():
        if each.topic_id is None:
            continue
        term.context.add_topic(topic, each.topic_id, _assignments(each))
        added += [(topic, index) for index in each.partitions]
    return added


async def topic_changed(term: Term, topic: str) -> None:
    """A topic's znode was written: by CreatePartitions, by a tool, or by the controller itself."""
    context = term.context
    found = (await _read_topics(term, [topic])).get(topic)
    known = context.topics.get(topic)
    if found is None or known is None:
        return
    added = {index: each for index, each in _assignments(found).items() if index not in known}
    if not added:
        return
    if context.is_to_be_deleted(topic):
        logger.warning("topic %s gets no new partitions, since it is being deleted", topic)
        kept = replace(
            found, partitions={index: found.partitions[index] for index in found.partitions if index in known}
        )
        await term.store.write_each([[SetData(topic_path(topic), kept.encode())]])
        return
    known.update(added)
    logger.info("topic %s has %d more partitions", topic, len(added))
    await _create_partitions(term, [(topic, index) for index in added])


async def _create_partitions(term: Term, partitions: list[Partition]) -> None:
    replicas = term.context.replicas_of(partitions)
    term.partitions.become(partitions, PartitionState.NEW)
    await term.replicas.become(replicas, ReplicaState.NEW)
    await term.partitions.become_online(partitions, Reason.OFFLINE)
    live = term.context.brokers
    online = {broker: hosted for broker, hosted in replicas.items() if broker in live}
    offline = {broker: hosted for broker, hosted in replicas.items() if broker not in live}
    await term.replicas.become(online, ReplicaState.ONLINE)
    await term.replicas.become(offline, ReplicaState.OFFLINE)


async def _read_topics(term: Term, topics: Iterable[str]) -> dict[str, TopicAssignment]:
    paths = {topic_path(topic): topic for topic in topics}
    found = {}
    for path, znode in (await term.store.read_each(paths, term.watcher)).items():
        try:
            found[paths[path]] = TopicAssignment.decode(paths[path], znode.data)
        except MalformedZnode as error:
            logger.warning("the topic is left out: %s", error)
    return found


async def _give_ids(term: Term, topics: dict[str, TopicAssignment]) -> dict[str, TopicAssignment]:
    """Topics of brokers that knew no ids get one (KIP-516)."""
    writes = [[SetData(topic_path(topic), each.encode())] for topic, each in topics.items()]
    outcomes = dict(zip(topics, await term.store.write_each(writes), strict=True))
    return {topic: each for topic, each in topics.items() if not isinstance(outcomes[topic], CoordinationError)}


def _assignments(topic: TopicAssignment) -> dict[int, ReplicaAssignment]:
    return {
        index: ReplicaAssignment(replicas, topic.adding_replicas.get(index, ()), topic.removing_replicas.get(index, ()))
        for index, replicas in topic.partitions.items()
    }
