"""Leaders change their in-sync replicas: by AlterPartition (KIP-497), or as leaders before Kafka 2.7 did.

The controller compares what the leader knows with what it knows itself. A leader with newer epochs talks to a former
controller; one with older epochs must first learn what it missed. A change that is there already is answered as done,
since the first answer may have been lost. Who joins must be alive (KIP-841). What is accepted keeps the leader epoch
and gets a new partition epoch.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.cluster.errors import MalformedZnode
from moldau.cluster.znodes.layout import ISR_CHANGES
from moldau.cluster.znodes.partition_lists import decode_partitions
from moldau.controller.context import Partition
from moldau.controller.leadership import Leadership
from moldau.controller.partition_writes import read_states, update_states
from moldau.controller.reassignment import isr_changed
from moldau.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    RequestPartitionData,
    ResponsePartitionData,
    ResponseTopicData,
)

if TYPE_CHECKING:
    from moldau.controller.term import Term

logger = logging.getLogger(__name__)

VERSION_WITH_TOPIC_IDS = 2
VERSION_WITH_BROKER_EPOCHS = 3
UNKNOWN_BROKER_EPOCH = -1

Outcome = Leadership | ErrorCode


async def alter_partition(term: Term, request: AlterPartitionRequest, version: int) -> AlterPartitionResponse:
    check_broker_epoch(term, request.broker_id, request.broker_epoch)
    response = AlterPartitionResponse()
    outcomes: dict[Partition, Outcome] = {}
    changes: dict[Partition, Leadership] = {}
    asked: list[tuple[ResponseTopicData, int, Partition | None]] = []
    for topic in request.topics:
        answered = ResponseTopicData(topic_name=topic.topic_name, topic_id=topic.topic_id)
        response.topics.append(answered)
        by_id = version >= VERSION_WITH_TOPIC_IDS
        name = term.context.topic_names.get(topic.topic_id) if by_id else topic.topic_name
        for data in topic.partitions:
            asked.append((answered, data.partition_index, None if name is None else (name, data.partition_index)))
            if name is not None:
                outcome = _decide(term, (name, data.partition_index), request.broker_id, data, version)
                if isinstance(outcome, Leadership) and outcome != term.context.leadership[name, data.partition_index]:
                    changes[name, data.partition_index] = outcome
                else:
                    outcomes[name, data.partition_index] = outcome
    outcomes.update(await _write(term, changes))
    for answered, index, asked_for in asked:
        outcome = ErrorCode.UNKNOWN_TOPIC_ID if asked_for is None else outcomes[asked_for]
        answered.partitions.append(_answer(index, outcome))
    return response


def check_broker_epoch(term: Term, broker_id: int, broker_epoch: int) -> None:
    """A request of a broker that died meanwhile, or of its former life, is not obeyed (KIP-380)."""
    broker = term.context.brokers.get(broker_id)
    if broker is None or broker.epoch != broker_epoch:
        known = "not registered" if broker is None else f"registered with epoch {broker.epoch}"
        text = f"broker {broker_id} with epoch {broker_epoch} is {known}"
        raise ApiError(ErrorCode.STALE_BROKER_EPOCH, text)


def _decide(term: Term, partition: Partition, leader: int, data: RequestPartitionData, version: int) -> Outcome:
    """What the partition shall be, which may be what it is, or why not."""
    current = term.context.leadership.get(partition)
    if current is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if data.partition_epoch > current.partition_epoch or data.leader_epoch > current.leader_epoch:
        return ErrorCode.NOT_CONTROLLER
    if data.leader_epoch < current.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    epochs = {each.broker_id: each.broker_epoch for each in data.new_isr_with_epochs}
    isr = tuple(epochs) if version >= VERSION_WITH_BROKER_EPOCHS else tuple(data.new_isr)
    is_recovering = bool(data.leader_recovery_state)
    if leader == current.leader and set(isr) == set(current.isr) and is_recovering == current.is_recovering:
        return current
    if data.partition_epoch < current.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    if is_recovering and (len(isr) > 1 or not current.is_recovering):
        return ErrorCode.INVALID_REQUEST
    if leader != current.leader or leader not in isr or not set(isr) <= set(term.context.replicas(partition)):
        return ErrorCode.INVALID_REQUEST
    if not all(_is_eligible(term, replica, epochs.get(replica, UNKNOWN_BROKER_EPOCH)) for replica in isr):
        is_known = version >= VERSION_WITH_TOPIC_IDS
        return ErrorCode.INELIGIBLE_REPLICA if is_known else ErrorCode.OPERATION_NOT_ATTEMPTED
    return current._replace(isr=isr, is_recovering=is_recovering)


def _is_eligible(term: Term, replica: int, broker_epoch: int) -> bool:
    """Only a broker that lives, stays, and is the one that the leader saw fetching (KIP-903)."""
    broker = term.context.brokers.get(replica)
    if broker is None or replica in term.context.shutting_down:
        return False
    return broker_epoch in (UNKNOWN_BROKER_EPOCH, broker.epoch)


async def _write(term: Term, changes: dict[Partition, Leadership]) -> dict[Partition, Outcome]:
    if not changes:
        return {}
    context = term.context
    written = await update_states(term.store, changes)
    context.leadership.update(written.done)
    if written.conflicts:
        context.leadership.update(await read_states(term.store, written.conflicts))
    term.requests.update_metadata(changes)
    term.requests.send()
    if written.done:
        # Not now: the leader waits for its answer.
        term.enqueue("ISRs changed", partial(isr_changed, partitions=list(written.done)))
    outcomes: dict[Partition, Outcome] = dict(written.done)
    outcomes.update(dict.fromkeys(written.conflicts, ErrorCode.INVALID_UPDATE_VERSION))
    outcomes.update(dict.fromkeys(written.failed, ErrorCode.UNKNOWN_SERVER_ERROR))
    return outcomes


def _answer(index: int, outcome: Outcome) -> ResponsePartitionData:
    if isinstance(outcome, ErrorCode):
        return ResponsePartitionData(partition_index=index, error_code=outcome)
    return ResponsePartitionData(
        partition_index=index,
        leader_id=outcome.leader,
        leader_epoch=outcome.leader_epoch,
        isr=list(outcome.isr),
        leader_recovery_state=int(outcome.is_recovering),
        partition_epoch=outcome.partition_epoch,
    )


async def isr_notifications_changed(term: Term) -> None:
    """A leader of old wrote its state itself, and says so: the new state is read, and all brokers are told (B28)."""
    names = await term.store.session.children(ISR_CHANGES, term.watcher)
    znodes = await term.store.read_each(f"{ISR_CHANGES}/{name}" for name in names)
    partitions: dict[Partition, None] = {}
    for path, znode in znodes.items():
        try:
            partitions.update(dict.fromkeys(decode_partitions(path, znode.data)))
        except MalformedZnode as error:
            logger.warning("%s", error)
    known = [partition for partition in partitions if term.context.knows(partition)]
    if known:
        await _refresh(term, known)
    await term.store.delete(znodes)


async def _refresh(term: Term, partitions: Iterable[Partition]) -> None:
    term.context.leadership.update(await read_states(term.store, partitions))
    term.requests.update_metadata(partitions)
    term.requests.send()
    await isr_changed(term, partitions)
