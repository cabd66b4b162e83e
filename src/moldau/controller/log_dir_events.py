"""A broker says that a directory of it failed (KIP-112), but not which replicas were there.

So it is told once more what it hosts, and answers for each replica whether it is still there (see `answers`).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from moldau.cluster.errors import MalformedZnode
from moldau.cluster.znodes.layout import LOG_DIR_EVENTS
from moldau.cluster.znodes.log_dir_events import decode_log_dir_event
from moldau.controller.replica_states import PREVIOUS_REPLICA_STATES, ReplicaState

if TYPE_CHECKING:
    from moldau.controller.term import Term

logger = logging.getLogger(__name__)


async def log_dir_events_changed(term: Term) -> None:
    context = term.context
    names = await term.store.session.children(LOG_DIR_EVENTS, term.watcher)
    znodes = await term.store.read_each(f"{LOG_DIR_EVENTS}/{name}" for name in names)
    brokers: set[int] = set()
    for path, znode in znodes.items():
        try:
            brokers.add(decode_log_dir_event(path, znode.data))
        except MalformedZnode as error:
            logger.warning("%s", error)
    if brokers:
        logger.warning("brokers %s have directories that failed", sorted(brokers))
        may_be_online = PREVIOUS_REPLICA_STATES[ReplicaState.ONLINE]
        replicas = {
            replica: [each for each in partitions if context.replica_state(each, replica) in may_be_online]
            for replica, partitions in context.replicas_on(brokers & context.brokers.keys()).items()
        }
        await term.replicas.become(replicas, ReplicaState.ONLINE)
    await term.store.delete(znodes)
