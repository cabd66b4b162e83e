"""What a new controller does, in the order in which Kafka's does it.

Watches come first and reading second, so that no change falls between. Notifications of old are deleted unread: all
they could tell is read anyway. Brokers learn who the controller is, and which brokers there are, before anything is
asked of them.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from moldau.cluster.znodes.layout import ISR_CHANGES, LOG_DIR_EVENTS, TOPICS
from moldau.controller.broker_changes import read_brokers
from moldau.controller.features import set_up_features
from moldau.controller.leader_elections import preferred_election_znode_changed
from moldau.controller.partition_writes import read_states
from moldau.controller.reassignment import reassignment_znode_changed, resume_reassignments
from moldau.controller.topic_changes import add_topics
from moldau.controller.topic_deletion import resume_deletions, take_over_deletions

if TYPE_CHECKING:
    from moldau.controller.term import Term

logger = logging.getLogger(__name__)


async def take_over(term: Term) -> None:
    """Become what the cluster needs; afterwards events are all there is to do."""
    context = term.context
    await set_up_features(term)
    await _forget_notifications(term)
    await _read_everything(term)
    await take_over_deletions(term)
    term.requests.update_metadata(())
    term.requests.send()
    await term.replicas.start()
    await term.partitions.start()
    await reassignment_znode_changed(term)
    await resume_reassignments(term, lambda _partition, _assignment: True)
    await resume_deletions(term)
    await preferred_election_znode_changed(term)
    logger.info(
        "controller with epoch %d: brokers %s, %d topics with %d partitions, %d being reassigned, %d topics to delete",
        context.epoch,
        sorted(context.brokers),
        len(context.topics),
        len(context.partition_states),
        len(context.being_reassigned),
        len(context.topics_to_delete),
    )


async def _forget_notifications(term: Term) -> None:
    for path in (ISR_CHANGES, LOG_DIR_EVENTS):
        names = await term.store.session.children(path, term.watcher)
        await term.store.delete(f"{path}/{name}" for name in names)


async def _read_everything(term: Term) -> None:
    context = term.context
    context.brokers.update(await read_brokers(term))
    topics = await term.store.session.children(TOPICS, term.watcher)
    partitions = await add_topics(term, topics)
    context.being_reassigned.update(
        dict.fromkeys(partition for partition in partitions if context.assignment(partition).is_being_reassigned)
    )
    context.leadership.update(await read_states(term.store, partitions))
    for broker_id in context.brokers:
        term.requests.open_channel(broker_id)
