"""Topics are deleted: everywhere, or not at all yet.

A topic that has a znode under /admin/delete_topics is to be deleted. Clients are told that its partitions have no
leader any more; its replicas stop, then are deleted by their brokers; when the last one is, the topic's znodes go. If
a broker is down, fails to delete, or the topic is being reassigned, the topic is ineligible: what can be deleted is,
and the rest is tried again when the broker comes back or the reassignment ends. Until then the topic exists.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

from moldau.cluster.errors import CoordinationError, NoNode
from moldau.cluster.store import CoordinationSession, Delete, Operation
from moldau.cluster.znodes.layout import (
    DELETE_TOPICS,
    config_path,
    delete_topic_path,
    partition_path,
    partition_state_path,
    partitions_path,
    topic_path,
)
from moldau.controller.context import ReplicasByBroker
from moldau.controller.fencing import OPERATIONS_PER_REQUEST, gather_in_turns
from moldau.controller.partition_states import PartitionState
from moldau.controller.replica_states import ReplicaState

if TYPE_CHECKING:
    from moldau.controller.term import Term

logger = logging.getLogger(__name__)


async def deletions_changed(term: Term) -> None:
    """Somebody asked for topics to be deleted."""
    context = term.context
    asked = await term.store.session.children(DELETE_TOPICS, term.watcher)
    unknown = [topic for topic in asked if topic not in context.topics]
    if unknown:
        logger.warning("topics %s do not exist, so there is nothing to delete", unknown)
        await term.store.delete(map(delete_topic_path, unknown))
    topics = [topic for topic in asked if topic in context.topics and topic not in context.topics_to_delete]
    if not topics:
        return
    if not term.config().boolean("delete.topic.enable"):
        logger.warning("topics %s are not deleted, since delete.topic.enable is false", topics)
        await term.store.delete(map(delete_topic_path, topics))
        return
    logger.info("%d topics are to be deleted, first %s", len(topics), topics[0])
    context.deletion_ineligible.update({topic for topic, _index in context.being_reassigned} & set(topics))
    context.topics_to_delete.update(dict.fromkeys(topics))
    await resume_deletions(term)


async def take_over_deletions(term: Term) -> None:
    """What a new controller finds to be deleted; nothing is begun yet."""
    context = term.context
    asked = await term.store.session.children(DELETE_TOPICS, term.watcher)
    if not term.config().boolean("delete.topic.enable"):
        await term.store.delete(map(delete_topic_path, asked))
        return
    await term.store.delete(delete_topic_path(topic) for topic in asked if topic not in context.topics)
    context.topics_to_delete.update(dict.fromkeys(topic for topic in asked if topic in context.topics))
    moving = {topic for topic, _index in context.being_reassigned}
    for topic in context.topics_to_delete:
        partitions = context.partitions_of([topic])
        if topic in moving or any(context.online(each) != context.replicas(each) for each in partitions):
            context.deletion_ineligible.add(topic)


async def resume_deletion_of(term: Term, topics: Collection[str]) -> None:
    """Something that kept these topics from being deleted is over; those that still move must wait on."""
    context = term.context
    moving = {topic for topic, _index in context.being_reassigned}
    concerned = (context.topics_to_delete.keys() & set(topics)) - moving
    if concerned:
        context.deletion_ineligible -= concerned
        await resume_deletions(term)


async def fail_replica_deletion(term: Term, replicas: ReplicasByBroker) -> None:
    """Replicas of topics to be deleted are out of reach, or their brokers could not delete them."""
    context = term.context
    await _become_ineligible(term, replicas)
    failed = {
        topic
        for replica, partitions in replicas.items()
        for topic, index in partitions
        if context.replica_state((topic, index), replica) is not ReplicaState.DELETION_SUCCESSFUL
    }
    # A topic that waits for a replica which is deleted already would wait for ever.
    context.deletion_ineligible |= context.topics_to_delete.keys() & failed
    await resume_deletions(term)


async def _become_ineligible(term: Term, replicas: ReplicasByBroker) -> None:
    """Whatever they are, unless they are deleted already."""
    not_begun = (ReplicaState.NEW, ReplicaState.ONLINE)
    begun = (ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED)
    await term.replicas.become(_in_states(term, replicas, not_begun), ReplicaState.OFFLINE)
    await term.replicas.become(_in_states(term, replicas, begun), ReplicaState.DELETION_INELIGIBLE)


async def complete_replica_deletion(term: Term, replicas: ReplicasByBroker) -> None:
    await term.replicas.become(replicas, ReplicaState.DELETION_SUCCESSFUL)
    await resume_deletions(term)


async def resume_deletions(term: Term) -> None:
    """Take every topic that is to be deleted as far as it goes now."""
    context = term.context
    finished, to_retry, to_begin = [], [], []
    for topic in context.topics_to_delete:
        states = {state for _partition, _replica, state in context.states_of_topic(topic)}
        if states <= {ReplicaState.DELETION_SUCCESSFUL}:
            finished.append(topic)
        elif ReplicaState.DELETION_STARTED not in states:
            if ReplicaState.DELETION_INELIGIBLE in states:
                to_retry.append(topic)
            if topic not in context.deletion_ineligible:
                to_begin.append(topic)
    if finished:
        await _finish(term, finished)
    if to_retry:
        # Nobody is at work any more and some have failed: they are as before the attempt.
        replicas = context.replicas_of(context.partitions_of(to_retry))
        failed = _in_states(term, replicas, (ReplicaState.DELETION_INELIGIBLE,))
        await term.replicas.become(failed, ReplicaState.OFFLINE)
    if to_begin:
        await _begin(term, to_begin)


def _in_states(term: Term, replicas: ReplicasByBroker, states: Collection[ReplicaState]) -> ReplicasByBroker:
    state_of = term.context.replica_state
    return {
        replica: [partition for partition in partitions if state_of(partition, replica) in states]
        for replica, partitions in replicas.items()
    }


async def _begin(term: Term, topics: list[str]) -> None:
    context = term.context
    partitions = context.partitions_of(topics)
    existing = [each for each in partitions if context.partition_state(each) is not PartitionState.NON_EXISTENT]
    term.partitions.become(existing, PartitionState.OFFLINE)
    term.partitions.become(existing, PartitionState.NON_EXISTENT)
    term.requests.update_metadata(partitions)
    term.requests.send()
    reachable: ReplicasByBroker = {}
    dead: ReplicasByBroker = {}
    for topic in topics:
        for partition, replica, state in context.states_of_topic(topic):
            if state is ReplicaState.DELETION_SUCCESSFUL:
                continue
            if context.is_online(partition, replica, or_shutting_down=True):
                reachable.setdefault(replica, []).append(partition)
            else:
                dead.setdefault(replica, []).append(partition)
                context.deletion_ineligible.add(topic)
    # Those out of reach first; then all followers stop fetching before any replica is deleted.
    await _become_ineligible(term, dead)
    await term.replicas.become(reachable, ReplicaState.OFFLINE)
    await term.replicas.become(reachable, ReplicaState.DELETION_STARTED)


async def _finish(term: Term, topics: list[str]) -> None:
    """The last replica is deleted: now the topic's znodes."""
    context = term.context
    await term.replicas.become(context.replicas_of(context.partitions_of(topics)), ReplicaState.NON_EXISTENT)
    outcomes = await _delete_znodes(term, {topic: _expected_znodes(term, topic) for topic in topics})
    surprising = [topic for topic, error in outcomes.items() if error is not None]
    if surprising:
        found = await gather_in_turns(partial(_znodes_of, term.store.session), surprising)
        outcomes.update(await _delete_znodes(term, dict(zip(surprising, found, strict=True))))
    for topic, error in outcomes.items():
        if error is not None:
            logger.error("topic %s cannot be removed from the store yet: %s", topic, error)
        else:
            context.remove_topic(topic)
            logger.info("topic %s is deleted", topic)


async def _delete_znodes(term: Term, paths: dict[str, list[str]]) -> dict[str, CoordinationError | None]:
    """Delete each topic's znodes as one change unless they are very many; why it was refused, or None."""
    writes: list[list[Operation]] = []
    for of_topic in paths.values():
        deletes: list[Operation] = [Delete(path) for path in of_topic]
        while len(deletes) > OPERATIONS_PER_REQUEST:
            await term.store.write_each([deletes[:OPERATIONS_PER_REQUEST]])
            del deletes[:OPERATIONS_PER_REQUEST]
        writes.append(deletes)
    outcomes = zip(paths, await term.store.write_each(writes), strict=True)
    return {topic: outcome if isinstance(outcome, CoordinationError) else None for topic, outcome in outcomes}


def _expected_znodes(term: Term, topic: str) -> list[str]:
    """What a topic has if nobody interfered, deepest first."""
    paths = []
    for index in term.context.topics[topic]:
        paths += [partition_state_path(topic, index), partition_path(topic, index)]
    return [*paths, partitions_path(topic), topic_path(topic), config_path("topics", topic), delete_topic_path(topic)]


async def _znodes_of(session: CoordinationSession, topic: str) -> list[str]:
    """What a topic really has, deepest first."""
    paths = await _subtree(session, topic_path(topic))
    for path in (config_path("topics", topic), delete_topic_path(topic)):
        if await session.exists(path) is not None:
            paths.append(path)
    return paths


async def _subtree(session: CoordinationSession, path: str) -> list[str]:
    """A znode and everything below it, deepest first."""
    try:
        names = await session.children(path)
    except NoNode:
        return []
    below = await gather_in_turns(partial(_subtree, session), [f"{path}/{name}" for name in names])
    return [each for paths in below for each in paths] + [path]
