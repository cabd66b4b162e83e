"""Whether a partition can go where it is asked to go, and what its replicas are on the way there."""

from __future__ import annotations

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.controller.assignment import ReplicaAssignment
from moldau.controller.context import ControllerContext, Partition


def plan(
    context: ControllerContext,
    partition: Partition,
    target: tuple[int, ...] | None,
    *,
    allow_replication_factor_change: bool,
) -> ReplicaAssignment:
    """The replicas on the way to the target, or back if there is none. Raises ApiError."""
    current = context.assignment(partition)
    if target is None:
        if not current.is_being_reassigned:
            raise ApiError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "The partition is not being reassigned.")
        return current.reassign_to(current.origin)
    planned = current.reassign_to(target)
    problem = problem_of(target) or _dead(context, planned)
    if problem:
        raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)
    if not allow_replication_factor_change and current.replicas and len(target) != len(current.origin):
        raise ApiError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor would change from {len(current.origin)} to {len(target)}.",
        )
    return planned


def problem_of(target: tuple[int, ...]) -> str | None:
    """What is wrong with a target, whichever brokers live."""
    if not target:
        return "Empty replica list specified in partition reassignment."
    if len(set(target)) != len(target):
        return f"Duplicate replica ids in partition reassignment replica list: {list(target)}"
    if min(target) < 0:
        return f"Invalid broker id in replica list: {list(target)}"
    return None


def _dead(context: ControllerContext, planned: ReplicaAssignment) -> str | None:
    live = context.live_brokers
    dead = [replica for replica in planned.adding if replica not in live]
    if dead:
        return f"Replica assignment has brokers that are not alive: {dead}; live brokers are {sorted(live)}"
    return None


def would_lose_records(context: ControllerContext, partition: Partition, planned: ReplicaAssignment) -> bool:
    """Whether replicas that an earlier reassignment added are all that is in sync, and would be deleted."""
    leadership = context.leadership.get(partition)
    if leadership is None:
        return False
    staying = [replica for replica in leadership.isr if replica in planned.replicas]
    if context.is_online(partition, leadership.leader):
        staying = [replica for replica in staying if context.is_online(partition, replica)]
    return not staying
