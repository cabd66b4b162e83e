"""Which change in the store is which event of the active controller."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from moldau.cluster.paths import name_of, parent_of
from moldau.cluster.store import EventType, WatchEvent
from moldau.cluster.znodes.layout import (
    BROKER_IDS,
    DELETE_TOPICS,
    ISR_CHANGES,
    LOG_DIR_EVENTS,
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    TOPICS,
)
from moldau.controller.broker_changes import brokers_changed
from moldau.controller.isr_changes import isr_notifications_changed
from moldau.controller.leader_elections import preferred_election_znode_changed
from moldau.controller.log_dir_events import log_dir_events_changed
from moldau.controller.reassignment import reassignment_znode_changed
from moldau.controller.term import TermWork
from moldau.controller.topic_changes import topic_changed, topics_changed
from moldau.controller.topic_deletion import deletions_changed

_WORK: Mapping[str, TermWork] = {
    BROKER_IDS: brokers_changed,
    TOPICS: topics_changed,
    DELETE_TOPICS: deletions_changed,
    ISR_CHANGES: isr_notifications_changed,
    LOG_DIR_EVENTS: log_dir_events_changed,
    REASSIGN_PARTITIONS: reassignment_znode_changed,
    PREFERRED_REPLICA_ELECTION: preferred_election_znode_changed,
}


def work_of(event: WatchEvent) -> TermWork | None:
    """None for what another event tells as well: a broker or a topic that goes is missing in its list."""
    work = _WORK.get(event.path)
    if work is None and event.type is EventType.DATA_CHANGED:
        parent = parent_of(event.path)
        if parent == BROKER_IDS:
            return brokers_changed
        if parent == TOPICS:
            return partial(topic_changed, topic=name_of(event.path))
    return work
