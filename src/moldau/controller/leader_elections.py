"""Leaders are elected because somebody wants it: a request, an old tool, or the timer that keeps leaders spread.

The preferred leader of a partition is its first replica. After a broker was away others lead what it should lead; a
preferred election gives it back, provided that the replica is in sync. An unclean election makes a leader of any
replica that lives, where none can lead otherwise, and may lose records (KIP-460).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from enum import IntEnum
from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.cluster.errors import MalformedZnode, NoNode
from moldau.cluster.znodes.layout import PREFERRED_REPLICA_ELECTION
from moldau.cluster.znodes.partition_lists import decode_partitions
from moldau.cluster.znodes.partition_state import NO_LEADER
from moldau.controller.context import Partition
from moldau.controller.leader_selection import Reason

if TYPE_CHECKING:
    from moldau.controller.term import Term

logger = logging.getLogger(__name__)

Outcomes = dict[Partition, int | ApiError]
"""The leader that was elected, or why none was."""


class ElectionType(IntEnum):
    PREFERRED = 0
    UNCLEAN = 1


async def elect_leaders(term: Term, partitions: Iterable[Partition], election_type: ElectionType) -> Outcomes:
    outcomes: Outcomes = {}
    electable = []
    for partition in dict.fromkeys(partitions):
        problem = _problem(term, partition, election_type)
        if problem is None:
            electable.append(partition)
        else:
            outcomes[partition] = problem
    is_preferred = election_type is ElectionType.PREFERRED
    reason = Reason.PREFERRED if is_preferred else Reason.UNCLEAN
    elected, refused = await term.partitions.become_online(electable, reason)
    outcomes.update({partition: leadership.leader for partition, leadership in elected.items()})
    code = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE if is_preferred else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    outcomes.update({partition: ApiError(code, problem) for partition, problem in refused.items()})
    return outcomes


def _problem(term: Term, partition: Partition, election_type: ElectionType) -> ApiError | None:
    context = term.context
    if not context.knows(partition):
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
    if context.is_to_be_deleted(partition[0]):
        return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is being deleted")
    leadership = context.leadership.get(partition)
    if leadership is None:
        return ApiError(ErrorCode.LEADER_NOT_AVAILABLE, "The partition never had a leader.")
    if election_type is ElectionType.PREFERRED:
        is_well_led = leadership.leader == context.replicas(partition)[0]
    else:
        is_well_led = leadership.leader != NO_LEADER and context.is_online(partition, leadership.leader)
    return ApiError(ErrorCode.ELECTION_NOT_NEEDED, f"{leadership.leader} leads already.") if is_well_led else None


async def preferred_election_znode_changed(term: Term) -> None:
    """A tool of old asks for preferred leaders; obeyed and deleted at once. Hears of the next one."""
    session = term.store.session
    if await session.exists(PREFERRED_REPLICA_ELECTION, term.watcher) is None:
        return
    try:
        data = (await session.get(PREFERRED_REPLICA_ELECTION)).data
        partitions = decode_partitions(PREFERRED_REPLICA_ELECTION, data)
    except NoNode:
        partitions = []
    except MalformedZnode as error:
        logger.warning("%s; it is deleted", error)
        partitions = []
    outcomes = await elect_leaders(term, partitions, ElectionType.PREFERRED)
    for partition, outcome in outcomes.items():
        if isinstance(outcome, ApiError):
            logger.info("no preferred election for %s-%d: %s", *partition, outcome)
    await term.store.delete([PREFERRED_REPLICA_ELECTION])
    await session.exists(PREFERRED_REPLICA_ELECTION, term.watcher)


async def rebalance_leaders(term: Term) -> None:
    """Give leaderships back to brokers that lead too few of the partitions that prefer them."""
    context = term.context
    preferring: dict[int, list[Partition]] = {}
    for partition in context.partitions():
        if partition in context.leadership and not context.is_to_be_deleted(partition[0]):
            preferring.setdefault(context.replicas(partition)[0], []).append(partition)
    percentage_max = term.config().integer("leader.imbalance.per.broker.percentage")
    for broker_id, partitions in preferring.items():
        led_elsewhere = [each for each in partitions if context.leadership[each].leader != broker_id]
        if len(led_elsewhere) * 100 <= percentage_max * len(partitions) or context.being_reassigned:
            continue
        can_lead = [
            each
            for each in led_elsewhere
            if context.is_online(each, broker_id) and broker_id in context.leadership[each].isr
        ]
        if can_lead:
            logger.info("broker %d gets %d leaderships back", broker_id, len(can_lead))
            await term.partitions.become_online(can_lead, Reason.PREFERRED)
