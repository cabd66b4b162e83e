"""What `kafka-reassign-partitions` does: propose a plan, start it, look how far it is, call it off."""

from __future__ import annotations

import asyncio
import random
from argparse import Namespace
from collections.abc import Iterable, Sized

from moldau.base.clock import SystemClock
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.cli.kafka.connecting import Connection
from moldau.cli.kafka.documents import read_document, rows_of
from moldau.cli.kafka.failures import ToolFailed, text_of
from moldau.cli.kafka.reassignment_plan import Plan, read_plan, written
from moldau.cli.kafka.reassignment_throttles import MUST_VERIFY, clear_throttles, throttle_directories, throttle_moves
from moldau.clients.admin.cluster_operations import ClusterOperations
from moldau.clients.admin.log_dirs import LogDirOperations
from moldau.clients.admin.reassignments import ReassignmentOperations
from moldau.clients.admin.topic_descriptions import TopicDescriptionOperations
from moldau.clients.records import TopicPartition
from moldau.controller.placement import assign_replicas

RETRY_S = 0.1
EXISTING = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this and create a "
    "new partition assignment in addition to the existing one. The --additional flag can also be used to change the "
    "throttle by resubmitting the current reassignment."
)
ROLLBACK = "Save this to use as the --reassignment-json-file option during rollback"


async def generate(connection: Connection, options: Namespace) -> None:
    """Propose to spread topics over brokers, with as many replicas as they have."""
    path = options.topics_to_move_json_file
    topics = [row["topic"] for row in rows_of(read_document(path), path, "topics", topic=str)]
    if twice := sorted({each for each in topics if topics.count(each) > 1}):
        raise ToolFailed(f"List of topics to reassign contains duplicate entries: {twice}")
    try:
        brokers = [int(each) for each in options.broker_list.split(",")]
    except ValueError:
        raise ToolFailed(f"--broker-list expects ids of brokers, but received: {options.broker_list}") from None
    if twice_ids := sorted({each for each in brokers if brokers.count(each) > 1}):
        raise ToolFailed(f"Broker list contains duplicate entries: {twice_ids}")
    await _check_brokers(connection, brokers)
    current = await _assignment(connection, topics)
    nodes = {node.id: node for node in await connection.use(ClusterOperations).list_nodes()}
    racks = {each: None if options.disable_rack_aware else nodes[each].rack for each in brokers}
    proposed: dict[TopicPartition, list[int]] = {}
    for topic in topics:
        partitions = sorted(each for each in current if each.topic == topic)
        start, shift = random.randrange(len(brokers)), random.randrange(len(brokers))
        assigned = assign_replicas(racks, len(partitions), len(current[partitions[0]]), start=start, shift=shift)
        proposed |= {partition: list(assigned[partition.partition]) for partition in partitions}
    print(f"Current partition replica assignment\n{written(current)}\n")
    print(f"Proposed partition reassignment configuration\n{written(proposed)}")


async def execute(connection: Connection, options: Namespace) -> None:
    plan = read_plan(options.reassignment_json_file)
    operations = connection.use(ReassignmentOperations)
    moving = await operations.list_partition_reassignments()
    if moving and not options.additional:
        raise ToolFailed(EXISTING)
    await _check_brokers(connection, plan.brokers)
    current = await _assignment(connection, plan.topics)
    if missing := [str(each) for each in plan.replicas if each not in current]:
        raise ToolFailed(f"Unable to find partition: {', '.join(missing)}")
    before = {partition: current[partition] for partition in plan.replicas}
    print(f"Current partition replica assignment\n\n{written(before)}\n\n{ROLLBACK}")
    if options.throttle is not None or options.replica_alter_log_dirs_throttle is not None:
        print(MUST_VERIFY)
    if options.throttle is not None:
        await throttle_moves(connection, plan, before, moving, options.throttle)
    if options.replica_alter_log_dirs_throttle is not None:
        await throttle_directories(connection, plan, options.replica_alter_log_dirs_throttle)
    results = await operations.alter_partition_reassignments(plan.replicas, raise_errors=False)
    if results.errors:
        listed = "\n".join(f"{partition}: {text_of(error)}" for partition, error in sorted(results.errors.items()))
        raise ToolFailed(f"Error reassigning partition(s):\n{listed}")
    if options.zookeeper:
        print(f"Successfully started reassignment of partitions {written(plan.replicas)}")
    else:
        print(f"Successfully started partition reassignment{_s(plan.replicas)} for {_listed(plan.replicas)}")
    if plan.directories:
        await _move_directories(connection, plan, (10_000 if options.timeout is None else options.timeout) / 1000)


async def _move_directories(connection: Connection, plan: Plan, timeout_s: float) -> None:
    """Ask for the moves until all replicas are there to be moved."""
    operations = connection.use(LogDirOperations)
    clock = SystemClock()
    deadline_ms = clock.monotonic_ms() + timeout_s * 1000
    left = dict(plan.directories)
    while True:
        results = await operations.alter_replica_log_dirs(left, raise_errors=False)
        for replica in results.succeeded:
            where = f"{left[replica]} for replica {replica.topic}-{replica.partition} with broker {replica.broker_id}"
            print(f"Successfully started moving log directory to {where}")
        left = {replica: left[replica] for replica in results.errors}
        if not left:
            return
        for replica, error in results.errors.items():
            waits = isinstance(error, ApiError) and error.code is ErrorCode.REPLICA_NOT_AVAILABLE
            if not waits or clock.monotonic_ms() > deadline_ms:
                raise ToolFailed(f"Failed to alter dir for {replica}: {text_of(error)}")
        await asyncio.sleep(RETRY_S)


async def verify(connection: Connection, options: Namespace) -> None:
    plan = read_plan(options.reassignment_json_file)
    moving = await connection.use(ReassignmentOperations).list_partition_reassignments()
    current = await _assignment(connection, plan.topics)
    print("Status of partition reassignment:")
    done = True
    for partition, wanted in sorted(plan.replicas.items()):
        if partition in moving:
            done = False
            print(_status(partition, "in progress", options))
        elif list(current.get(partition, ())) == wanted:
            print(_status(partition, "completed", options))
        else:
            listed = [",".join(map(str, each)) for each in (current.get(partition, ()), wanted)]
            print(
                f"There is no active reassignment of partition {partition}, but replica set is {listed[0]} rather than "
                f"{listed[1]}."
            )
    if not options.zookeeper:
        print()
    done &= await _verify_directories(connection, plan)
    if done and not options.preserve_throttles:
        await clear_throttles(connection, plan.topics)


def _status(partition: TopicPartition, state: str, options: Namespace) -> str:
    if options.zookeeper:  # as 1.0 prints it
        shown = "completed successfully" if state == "completed" else "is still in progress"
        return f"Reassignment of partition [{partition.topic},{partition.partition}] {shown}"
    return f"Reassignment of partition {partition} is {'still ' if state == 'in progress' else ''}{state}."


async def _verify_directories(connection: Connection, plan: Plan) -> bool:
    """Tell how far moves between directories are; whether they are all through."""
    if not plan.directories:
        return True
    found = await connection.use(LogDirOperations).describe_replica_log_dirs(plan.directories)
    done = True
    for replica, wanted in sorted(plan.directories.items()):
        info = found[replica]
        name = f"Partition {replica.topic}-{replica.partition}"
        if info.current_replica_log_dir is None:
            print(f"{name} cannot be found in any live log directory on broker {replica.broker_id}.")
        elif info.future_replica_log_dir is not None:
            done = False
            if info.future_replica_log_dir == wanted:
                print(f"Reassignment of replica {replica} is still in progress.")
            else:
                where = f"is being moved to log dir {info.future_replica_log_dir} instead of {wanted}."
                print(f"{name} on broker {replica.broker_id} {where}")
        elif info.current_replica_log_dir == wanted:
            print(f"Reassignment of replica {replica} completed successfully.")
        else:
            where = f"is not being moved from log dir {info.current_replica_log_dir} to {wanted}."
            print(f"{name} on broker {replica.broker_id} {where}")
    return done


async def cancel(connection: Connection, options: Namespace) -> None:
    plan = read_plan(options.reassignment_json_file)
    operations = connection.use(ReassignmentOperations)
    moving = [each for each in await operations.list_partition_reassignments(plan.replicas) if each in plan.replicas]
    if moving:
        results = await operations.alter_partition_reassignments(dict.fromkeys(moving), raise_errors=False)
        if results.errors:
            listed = "\n".join(f"{each}: {text_of(error)}" for each, error in sorted(results.errors.items()))
            raise ToolFailed(f"Error cancelling partition reassignment{_s(results.errors)} for:\n{listed}")
        print(f"Successfully cancelled partition reassignment{_s(moving)} for: {_listed(moving)}")
    else:
        print("None of the specified partition reassignments are active.")
    if not options.preserve_throttles:
        await clear_throttles(connection, plan.topics)


async def list_moves(connection: Connection) -> None:
    moving = await connection.use(ReassignmentOperations).list_partition_reassignments()
    if not moving:
        print("No partition reassignments found.")
        return
    print("Current partition reassignments:")
    for partition, move in sorted(moving.items()):
        parts = [f"replicas: {','.join(map(str, move.replicas))}."]
        if move.adding_replicas:
            parts.append(f"adding: {','.join(map(str, move.adding_replicas))}.")
        if move.removing_replicas:
            parts.append(f"removing: {','.join(map(str, move.removing_replicas))}.")
        print(f"{partition}: {' '.join(parts)}")


async def _assignment(connection: Connection, topics: Iterable[str]) -> dict[TopicPartition, tuple[int, ...]]:
    described = await connection.use(TopicDescriptionOperations).describe_topics(topics)
    return {
        TopicPartition(each.name, info.partition): info.replicas
        for each in described.values()
        for info in each.partitions
    }


async def _check_brokers(connection: Connection, brokers: Iterable[int]) -> None:
    known = {node.id for node in await connection.use(ClusterOperations).list_nodes()}
    for each in sorted(set(brokers) - known):
        raise ToolFailed(f"Unknown broker id {each}")


def _listed(partitions: Iterable[TopicPartition]) -> str:
    return ",".join(map(str, sorted(partitions)))


def _s(things: Sized) -> str:
    return "" if len(things) == 1 else "s"
