"""Partitions move to other brokers, while they are written and read (KIP-455).

A reassignment is in the topic's znode, as replicas that are being added and removed, and so survives its controller.

1. The znode gets the replicas of before and after. All of them learn of it under a new leader epoch; the added ones
   start to follow.
2. When all replicas of the target are in sync, the leader moves into the target if it is not there; the removed
   replicas leave the ISR and are deleted; the znode has the target alone.

A new target replaces an old one, going out from where the replicas were before any of them; to cancel is to go back
there. Tools before KIP-455 write /admin/reassign_partitions, which is obeyed, and shrinks as partitions arrive.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.cluster.errors import MultiFailed
from moldau.cluster.store import SetData
from moldau.cluster.znodes.layout import topic_path
from moldau.cluster.znodes.topics import TopicAssignment
from moldau.controller.assignment import ReplicaAssignment
from moldau.controller.context import Partition
from moldau.controller.leader_selection import Reason
from moldau.controller.partition_writes import CONFLICTS_MAX, read_states, update_states
from moldau.controller.reassignment_plans import plan, problem_of, would_lose_records
from moldau.controller.reassignment_znode import forget_requested, read_requested
from moldau.controller.replica_states import ReplicaState
from moldau.controller.topic_deletion import resume_deletion_of

if TYPE_CHECKING:
    from moldau.controller.term import Term

logger = logging.getLogger(__name__)

Targets = Mapping[Partition, tuple[int, ...] | None]
"""Where partitions shall go; None cancels what is under way."""
Outcomes = dict[Partition, ApiError | None]


async def alter_reassignments(term: Term, targets: Targets, *, allow_replication_factor_change: bool) -> Outcomes:
    """What AlterPartitionReassignments asks for; why each partition is refused, or None."""
    outcomes: Outcomes = {}
    accepted: dict[Partition, ReplicaAssignment] = {}
    for partition, target in targets.items():
        try:
            accepted[partition] = plan(
                term.context, partition, target, allow_replication_factor_change=allow_replication_factor_change
            )
        except ApiError as error:
            outcomes[partition] = error
    await forget_requested(term, lambda partition, _replicas: partition in accepted)
    outcomes.update(await _begin_all(term, accepted))
    return outcomes


async def reassignment_znode_changed(term: Term) -> None:
    """A tool of old asks for reassignments; hears of the next one."""
    asked = await read_requested(term, watch=True)
    if not asked:
        return
    context = term.context
    plans: dict[Partition, ReplicaAssignment] = {}
    failed: dict[Partition, str] = {}
    for partition, target in asked.items():
        current = context.assignment(partition)
        problem, planned = problem_of(target), current.reassign_to(target)
        if problem:
            failed[partition] = problem
        elif planned != current or partition not in context.being_reassigned:
            # Else it is under way: the controller's own changes of the znode are heard of as well.
            plans[partition] = planned
    outcomes = await _begin_all(term, plans)
    failed.update({partition: str(error) for partition, error in outcomes.items() if error is not None})
    if failed:
        logger.warning("not reassigned as a znode asks: %s", failed)
        await forget_requested(term, lambda partition, _replicas: partition in failed)


async def _begin_all(term: Term, assignments: Mapping[Partition, ReplicaAssignment]) -> Outcomes:
    outcomes: Outcomes = {}
    for partition, assignment in assignments.items():
        if term.context.is_to_be_deleted(partition[0]):
            outcomes[partition] = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The topic is being deleted.")
        elif not term.context.knows(partition):
            outcomes[partition] = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
        elif would_lose_records(term.context, partition, assignment):
            text = "No replica that is in sync would be left: let the reassignment finish, or add such a replica."
            outcomes[partition] = ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
        else:
            try:
                await reassign(term, partition, assignment)
            except MultiFailed as error:
                logger.warning("%s-%d cannot be reassigned: %s", *partition, error)
                outcomes[partition] = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error))
            else:
                outcomes[partition] = None
    return outcomes


async def list_reassignments(term: Term, partitions: Iterable[Partition] | None) -> dict[Partition, ReplicaAssignment]:
    context = term.context
    wanted = context.being_reassigned if partitions is None else partitions
    return {each: context.assignment(each) for each in wanted if context.assignment(each).is_being_reassigned}


async def resume_reassignments(term: Term, concerns: Callable[[Partition, ReplicaAssignment], bool]) -> None:
    """Take reassignments that are under way further: a broker came back, or a new controller took over."""
    for partition in list(term.context.being_reassigned):
        assignment = term.context.assignment(partition)
        if concerns(partition, assignment):
            await reassign(term, partition, assignment)


async def isr_changed(term: Term, partitions: Iterable[Partition]) -> None:
    """The ISR grew or shrank: whoever waited for that goes on."""
    for partition in partitions:
        if partition in term.context.being_reassigned and _is_complete(term, partition):
            await reassign(term, partition, term.context.assignment(partition))


async def reassign(term: Term, partition: Partition, assignment: ReplicaAssignment) -> None:
    """Take a partition as far towards `assignment` as it goes now."""
    context = term.context
    # A topic is not deleted while it moves.
    if context.is_to_be_deleted(partition[0]):
        context.deletion_ineligible.add(partition[0])
    await _change_assignment(term, partition, assignment)
    context.being_reassigned[partition] = None
    if _is_complete(term, partition):
        await _complete(term, partition, assignment)
    else:
        logger.info("%s-%d moves from %s to %s", *partition, list(assignment.origin), list(assignment.target))
        await _tell_under_new_epoch(term, partition)
        starting = {
            replica: [partition]
            for replica in assignment.adding
            if context.replica_state(partition, replica) is ReplicaState.NON_EXISTENT
        }
        await term.replicas.become(starting, ReplicaState.NEW)


async def _change_assignment(term: Term, partition: Partition, assignment: ReplicaAssignment) -> None:
    current = term.context.assignment(partition)
    if current == assignment:
        return
    await _write_assignment(term, partition, assignment)
    term.context.assign(partition, assignment)
    # Replicas that an earlier reassignment added, and this one does not want; one of them may lead by now.
    unneeded = set(current.replicas) - set(assignment.replicas)
    leadership = term.context.leadership.get(partition)
    if leadership is not None and leadership.leader in unneeded:
        await term.partitions.become_online([partition], Reason.OFFLINE)
    await _delete_replicas(term, partition, unneeded)


def _is_complete(term: Term, partition: Partition) -> bool:
    leadership, assignment = term.context.leadership.get(partition), term.context.assignment(partition)
    if not assignment.is_being_reassigned:
        return True
    return leadership is not None and set(assignment.target) <= set(leadership.isr)


async def _complete(term: Term, partition: Partition, assignment: ReplicaAssignment) -> None:
    context = term.context
    online = {
        replica: [partition]
        for replica in assignment.adding
        if context.replica_state(partition, replica) is not ReplicaState.NON_EXISTENT
    }
    await term.replicas.become(online, ReplicaState.ONLINE)
    target = ReplicaAssignment(assignment.target)
    context.assign(partition, target)
    await _move_leader_into(term, partition, target)
    await _delete_replicas(term, partition, assignment.removing)
    await _write_assignment(term, partition, target)
    context.being_reassigned.pop(partition, None)
    await forget_requested(term, lambda each, replicas: each == partition and replicas == target.replicas)
    term.requests.update_metadata([partition])
    term.requests.send()
    logger.info("%s-%d is on %s now", *partition, list(target.replicas))
    await resume_deletion_of(term, [partition[0]])


async def _move_leader_into(term: Term, partition: Partition, target: ReplicaAssignment) -> None:
    """The leader stays if it can, and tells followers of the smaller set under a new epoch; else another is elected."""
    leadership = term.context.leadership.get(partition)
    if leadership is None:
        return
    if leadership.leader in target.replicas and term.context.is_online(partition, leadership.leader):
        await _tell_under_new_epoch(term, partition)
    else:
        await term.partitions.become_online([partition], Reason.REASSIGNMENT)


async def _tell_under_new_epoch(term: Term, partition: Partition) -> None:
    """Nobody obeys a change of replicas under an epoch that it knows already."""
    context = term.context
    for _attempt in range(CONFLICTS_MAX):
        leadership = context.leadership.get(partition)
        if leadership is None:
            return
        written = await update_states(term.store, {partition: leadership.next()})
        context.leadership.update(written.done)
        if written.done:
            term.requests.leader_and_isr(context.replicas(partition), partition)
            term.requests.send()
            return
        context.leadership.update(await read_states(term.store, written.conflicts))
    logger.error("%s-%d cannot be given a new leader epoch, others change it all the time", *partition)


async def _delete_replicas(term: Term, partition: Partition, brokers: Iterable[int]) -> None:
    """Out of the ISR, stopped and deleted; nobody waits for the brokers' answers."""
    replicas = {
        replica: [partition]
        for replica in sorted(brokers)
        if term.context.replica_state(partition, replica) is not ReplicaState.NON_EXISTENT
    }
    for state in (
        ReplicaState.OFFLINE,
        ReplicaState.DELETION_STARTED,
        ReplicaState.DELETION_SUCCESSFUL,
        ReplicaState.NON_EXISTENT,
    ):
        await term.replicas.become(replicas, state)


async def _write_assignment(term: Term, partition: Partition, assignment: ReplicaAssignment) -> None:
    topic = partition[0]
    assignments = {**term.context.topics[topic], partition[1]: assignment}
    znode = TopicAssignment(
        topic_id=term.context.topic_ids.get(topic),
        partitions={index: each.replicas for index, each in assignments.items()},
        adding_replicas={index: each.adding for index, each in assignments.items() if each.adding},
        removing_replicas={index: each.removing for index, each in assignments.items() if each.removing},
    )
    await term.store.write([SetData(topic_path(topic), znode.encode())])
