"""Replica assignments that a person gives: whether they make sense.

As in Kafka, a new topic may be assigned to brokers that are not alive; partitions that are added later may not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NoReturn

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.controller.placement import Assignment


def _refuse(problem: str) -> NoReturn:
    raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, problem)


def check_new_assignment(given: Iterable[tuple[int, Sequence[int]]]) -> Assignment:
    """The assignment of a whole new topic: partitions from 0 on without a gap, all of the same replication factor."""
    assignment: Assignment = {}
    for partition, replicas in given:
        if partition in assignment:
            _refuse(f"Found multiple assignments for partition {partition}")
        assignment[partition] = tuple(replicas)
    if len({len(replicas) for replicas in assignment.values()}) > 1:
        _refuse("All partitions should have the same number of replicas")
    for partition, replicas in assignment.items():
        _check_replicas(partition, replicas)
        if min(replicas) < 0:
            _refuse(f"Partition {partition} is assigned to broker {min(replicas)}: broker ids are not negative.")
    if sorted(assignment) != list(range(len(assignment))):
        _refuse("partitions should be a consecutive 0-based integer sequence")
    return dict(sorted(assignment.items()))


def check_added_assignment(
    given: Sequence[Sequence[int]],
    more: int,
    first_partition: int,
    replication_factor: int,
    live_brokers: Collection[int],
) -> Assignment:
    """The assignment of `more` partitions that are added to a topic, in the order of their numbers."""
    unknown = {broker for replicas in given for broker in replicas} - set(live_brokers)
    if unknown:
        _refuse(f"Unknown broker(s) in replica assignment: {', '.join(map(str, sorted(unknown)))}.")
    if len(given) != more:
        _refuse(f"Increasing the number of partitions by {more} but {len(given)} assignments provided.")
    assignment = {first_partition + place: tuple(replicas) for place, replicas in enumerate(given)}
    for partition, replicas in assignment.items():
        _check_replicas(partition, replicas)
    odd = {
        partition: len(replicas) for partition, replicas in assignment.items() if len(replicas) != replication_factor
    }
    if odd:
        _refuse(
            f"Inconsistent replication factor between partitions, partition 0 has {replication_factor} while "
            f"partitions [{', '.join(map(str, odd))}] have replication factors "
            f"[{', '.join(map(str, odd.values()))}], respectively."
        )
    return assignment


def _check_replicas(partition: int, replicas: Sequence[int]) -> None:
    if not replicas:
        _refuse(f"Cannot have replication factor of 0 for partition id {partition}.")
    if len(set(replicas)) != len(replicas):
        listed = ", ".join(map(str, replicas))
        _refuse(f"Duplicate brokers not allowed in replica assignment: {listed} for partition id {partition}.")
