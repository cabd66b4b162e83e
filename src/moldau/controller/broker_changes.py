"""Brokers come, go, come back and change their address.

A broker that came is told everything; its replicas go online, and partitions that lacked a leader may have one again.
Of a broker that went, the replicas go offline, and its leaderships go to others. One that came back so fast that its
absence was not seen has a new epoch: it went and came.

A process that has died leaves its registration until its session times out. Where nobody listens at its address any
more, its leaderships go to others before that, as if it had asked to be shut down: if it should live after all, nothing
is lost by it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from moldau.cluster.errors import MalformedZnode
from moldau.cluster.znodes.brokers import BrokerRegistration
from moldau.cluster.znodes.layout import BROKER_IDS, broker_path
from moldau.controller.context import LiveBroker, ReplicasByBroker
from moldau.controller.controlled_shutdown import shut_down
from moldau.controller.partition_states import PartitionState
from moldau.controller.reassignment import resume_reassignments
from moldau.controller.replica_states import ReplicaState
from moldau.controller.topic_deletion import fail_replica_deletion, resume_deletion_of

if TYPE_CHECKING:
    from moldau.controller.term import Term

logger = logging.getLogger(__name__)

DELETED = ReplicaState.DELETION_SUCCESSFUL


async def read_brokers(term: Term) -> dict[int, LiveBroker]:
    """Who is registered, with a watch on the list and on each."""
    names = await term.store.session.children(BROKER_IDS, term.watcher)
    ids = {broker_path(int(name)): int(name) for name in names if name.isdigit()}
    brokers = {}
    for path, znode in (await term.store.read_each(ids, term.watcher)).items():
        try:
            registration = BrokerRegistration.decode(ids[path], znode.data)
        except MalformedZnode as error:
            logger.warning("%s", error)
        else:
            brokers[ids[path]] = LiveBroker(znode.stat.czxid, registration)
    return brokers


async def brokers_changed(term: Term) -> None:
    """The list under /brokers/ids, or a registration in it, is not what it was."""
    before, now = dict(term.context.brokers), await read_brokers(term)
    came = sorted(now.keys() - before.keys())
    went = sorted(before.keys() - now.keys())
    bounced = sorted(each for each in now.keys() & before.keys() if now[each].epoch != before[each].epoch)
    moved = [
        each
        for each in now.keys() & before.keys()
        if each not in bounced and now[each].registration != before[each].registration
    ]
    if came or went or bounced:
        logger.info("brokers: came %s, went %s, came back %s; live are %s", came, went, bounced, sorted(now))
    if came:
        _open(term, {each: now[each] for each in came})
        await _start(term, came)
    if bounced:
        _close(term, bounced)
        await _fail(term, bounced)
        _open(term, {each: now[each] for each in bounced})
        await _start(term, bounced)
    if went:
        _close(term, went)
        await _fail(term, went)
    if moved:
        logger.info("brokers %s changed their registrations", moved)
        _open(term, {each: now[each] for each in moved})
        term.requests.update_metadata(())
        term.requests.send()


async def broker_is_gone(term: Term, broker_id: int) -> None:
    """Nobody listens where a registered broker was."""
    broker = term.context.brokers.get(broker_id)
    if broker is not None and broker_id not in term.context.shutting_down:
        logger.warning("broker %d is registered, but nobody listens there: others lead what it led", broker_id)
        await shut_down(term, broker_id, broker.epoch)


async def broker_came_back(term: Term, broker_id: int) -> None:
    """Somebody listens there again, under the registration that was given up."""
    if broker_id in term.context.brokers:
        logger.info("broker %d listens again", broker_id)
        term.context.shutting_down.discard(broker_id)
        await _tell_everything(term, [broker_id])


async def tell_everything_anew(term: Term, broker_id: int) -> None:
    """A broker did not take its requests for so long that they were dropped."""
    context = term.context
    if broker_id not in context.brokers:
        return
    logger.error("broker %d does not obey; it is told everything anew", broker_id)
    deleting = [
        partition
        for partition in context.replicas_on([broker_id]).get(broker_id, [])
        if context.replica_state(partition, broker_id) is ReplicaState.DELETION_STARTED
    ]
    if deleting:
        await fail_replica_deletion(term, {broker_id: deleting})
    await _tell_everything(term, [broker_id])


def _open(term: Term, brokers: dict[int, LiveBroker]) -> None:
    term.context.brokers.update(brokers)
    for broker_id in brokers:
        term.requests.open_channel(broker_id)


def _close(term: Term, broker_ids: list[int]) -> None:
    for broker_id in broker_ids:
        term.requests.close_channel(broker_id)
        del term.context.brokers[broker_id]


async def _start(term: Term, broker_ids: list[int]) -> None:
    for broker_id in broker_ids:
        term.context.offline_replicas.pop(broker_id, None)
    await _tell_everything(term, broker_ids)


async def _tell_everything(term: Term, broker_ids: list[int]) -> None:
    context, requests = term.context, term.requests
    # Who was there hears of the new ones; these hear of everything, before they are told what to lead.
    requests.update_metadata((), context.brokers.keys() - set(broker_ids))
    requests.send()
    requests.update_metadata([each for each in context.leadership if not context.is_to_be_deleted(each[0])], broker_ids)
    requests.send()
    replicas = {
        replica: [each for each in partitions if context.replica_state(each, replica) is not DELETED]
        for replica, partitions in context.replicas_on(broker_ids).items()
    }
    await term.replicas.become(replicas, ReplicaState.ONLINE)
    await term.partitions.elect_where_missing()
    await resume_reassignments(term, lambda _partition, assignment: bool(set(assignment.target) & set(broker_ids)))
    topics = {
        topic for partitions in replicas.values() for topic, _index in partitions if context.is_to_be_deleted(topic)
    }
    await resume_deletion_of(term, topics)


async def _fail(term: Term, broker_ids: list[int]) -> None:
    context = term.context
    for broker_id in broker_ids:
        context.offline_replicas.pop(broker_id, None)
        context.shutting_down.discard(broker_id)
    await replicas_went_offline(term, context.replicas_on(broker_ids))


async def replicas_went_offline(term: Term, replicas: ReplicasByBroker) -> None:
    """Brokers or directories are gone: first others lead, then the lost replicas leave the ISRs."""
    context = term.context
    leaderless = context.partitions_with_offline_leader()
    term.partitions.become(leaderless, PartitionState.OFFLINE)
    await term.partitions.elect_where_missing()
    staying: ReplicasByBroker = {}
    in_deletion: ReplicasByBroker = {}
    for replica, partitions in replicas.items():
        for partition in partitions:
            group = in_deletion if context.is_to_be_deleted(partition[0]) else staying
            group.setdefault(replica, []).append(partition)
    await term.replicas.become(staying, ReplicaState.OFFLINE)
    if in_deletion:
        await fail_replica_deletion(term, in_deletion)
    if not leaderless:
        # Nothing may have been said yet, and everybody is to know which brokers there are.
        term.requests.update_metadata(())
        term.requests.send()
