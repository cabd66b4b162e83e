"""A broker that stops on purpose asks first: its leaderships go to others, and it leaves the ISRs, while it lives.

So no client meets a dead leader. What it still leads afterwards, having nobody to hand it to, is its answer; the
broker asks again or stops all the same. Partitions with one replica have nobody to go to, and are not spoken of; nor
has anything when the last broker goes, which would ask in vain until it is tired of it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.controller.context import Partition
from moldau.controller.leader_selection import Reason
from moldau.controller.replica_states import ReplicaState

if TYPE_CHECKING:
    from moldau.controller.term import Term

logger = logging.getLogger(__name__)

UNKNOWN_BROKER_EPOCH = -1
"""What requests before KIP-380 carry."""


async def shut_down(term: Term, broker_id: int, broker_epoch: int) -> set[Partition]:
    """Prepare for the end of a broker; the replicated partitions that it still leads."""
    context = term.context
    broker = context.brokers.get(broker_id)
    if broker is None:
        raise ApiError(ErrorCode.BROKER_NOT_AVAILABLE, f"Broker id {broker_id} does not exist.")
    if broker_epoch not in (UNKNOWN_BROKER_EPOCH, broker.epoch):
        text = f"broker {broker_id} is registered with epoch {broker.epoch}, not {broker_epoch}"
        raise ApiError(ErrorCode.STALE_BROKER_EPOCH, text)
    context.shutting_down.add(broker_id)
    if not context.live_brokers:
        logger.info("broker %d shuts down, the last one: nobody takes over what it leads", broker_id)
        return set()
    led: list[Partition] = []
    followed: list[Partition] = []
    for partition in _replicated(term, broker_id):
        (led if context.leadership[partition].leader == broker_id else followed).append(partition)
    logger.info("broker %d shuts down: it leads %d and follows %d partitions", broker_id, len(led), len(followed))
    await term.partitions.become_online(led, Reason.CONTROLLED_SHUTDOWN)
    # Followers stop and leave the ISR now, so that the leaders do not wait for them later.
    await term.replicas.become({broker_id: followed}, ReplicaState.OFFLINE)
    return {each for each in _replicated(term, broker_id) if context.leadership[each].leader == broker_id}


def _replicated(term: Term, broker_id: int) -> list[Partition]:
    context = term.context
    return [
        partition
        for partition in context.replicas_on([broker_id]).get(broker_id, [])
        if len(context.replicas(partition)) > 1
        and partition in context.leadership
        and not context.is_to_be_deleted(partition[0])
    ]
