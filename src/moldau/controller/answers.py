"""What brokers answer to the controller's requests, where it matters.

A broker that says KAFKA_STORAGE_ERROR for a partition has it on a directory that failed (KIP-112): the replica is
offline though its broker lives. A broker that has deleted replicas, or could not, moves the deletion of their topics.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.controller.broker_changes import replicas_went_offline
from moldau.controller.context import Partition
from moldau.controller.replica_states import ReplicaState
from moldau.controller.topic_deletion import complete_replica_deletion, fail_replica_deletion
from moldau.protocol.messages.leader_and_isr import LeaderAndIsrResponse
from moldau.protocol.messages.stop_replica import StopReplicaResponse

if TYPE_CHECKING:
    from moldau.controller.term import Term

logger = logging.getLogger(__name__)


def leader_and_isr_answered(term: Term, broker_id: int, answer: LeaderAndIsrResponse) -> None:
    if answer.error_code:
        logger.warning("broker %d refused its partitions with error %d", broker_id, answer.error_code)
        return
    topic_names = term.context.topic_names
    errors = {(each.topic_name, each.partition_index): each.error_code for each in answer.partition_errors}
    for topic in answer.topics:
        name = topic_names.get(topic.topic_id)
        if name is not None:
            errors.update({(name, each.partition_index): each.error_code for each in topic.partition_errors})
    if term.context.offline_replicas.get(broker_id) or ErrorCode.KAFKA_STORAGE_ERROR in errors.values():
        work = partial(_note_directories, broker_id=broker_id, errors=errors)
        term.enqueue(f"broker {broker_id} told of its directories", work)


async def _note_directories(term: Term, broker_id: int, errors: dict[Partition, int]) -> None:
    if broker_id not in term.context.brokers:
        return
    offline = term.context.offline_replicas.setdefault(broker_id, set())
    failed = {partition for partition, code in errors.items() if code == ErrorCode.KAFKA_STORAGE_ERROR}
    failed = {partition for partition in failed if term.context.knows(partition)}
    newly_offline = failed - offline
    offline -= {partition for partition, code in errors.items() if code == ErrorCode.NONE}
    offline |= failed
    if newly_offline:
        logger.warning("broker %d has %d replicas on directories that failed", broker_id, len(newly_offline))
        await replicas_went_offline(term, {broker_id: sorted(newly_offline)})


def stop_replica_answered(
    term: Term, broker_id: int, answer: StopReplicaResponse, deleted: frozenset[Partition]
) -> None:
    if not deleted:
        return
    answered = {(each.topic_name, each.partition_index): each.error_code for each in answer.partition_errors}
    # A request that is refused as a whole lists nothing, and nothing of it was done.
    errors = {partition: answer.error_code or answered.get(partition, ErrorCode.NONE) for partition in deleted}
    term.enqueue(f"broker {broker_id} deleted replicas", partial(_note_deletions, broker_id=broker_id, errors=errors))


async def _note_deletions(term: Term, broker_id: int, errors: dict[Partition, int]) -> None:
    # Replicas that a reassignment removed are deleted as well, and nobody waits for them.
    concerned = {
        partition: code
        for partition, code in sorted(errors.items())
        if term.context.is_to_be_deleted(partition[0])
        and term.context.replica_state(partition, broker_id) is ReplicaState.DELETION_STARTED
    }
    failed = [partition for partition, code in concerned.items() if code]
    done = [partition for partition, code in concerned.items() if not code]
    if failed:
        logger.warning("broker %d could not delete %d replicas, first %s-%d", broker_id, len(failed), *failed[0])
        await fail_replica_deletion(term, {broker_id: failed})
    if done:
        await complete_replica_deletion(term, {broker_id: done})
