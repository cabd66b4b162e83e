"""Moving topics: a plan that spreads them evenly, and the wait until it has been carried out."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence

from moldau.base.errors import ConfigError
from moldau.cli.kafka.connecting import Connection
from moldau.cli.kafka.reassignment_plan import Plan
from moldau.cli.kafka.reassignment_throttles import clear_throttles, throttle_moves
from moldau.cli.terminal.progress import progress
from moldau.clients.admin.cluster_operations import ClusterOperations
from moldau.clients.admin.reassignments import ReassignmentOperations
from moldau.clients.admin.topic_descriptions import TopicDescriptionOperations
from moldau.clients.records import TopicPartition
from moldau.controller.placement import assign_replicas

LOOK_AGAIN_S = 0.5

Moves = dict[TopicPartition, tuple[tuple[int, ...], list[int]]]


async def plan_moves(
    connection: Connection, topics: Sequence[str], brokers: str, replication_factor: int | None
) -> Moves:
    """Where each partition is, and where it is to be, as a new topic would be placed."""
    known = {node.id: node for node in await connection.use(ClusterOperations).list_nodes()}
    wanted = _ids(brokers)
    if missing := [each for each in wanted if each not in known]:
        listed = ", ".join(map(str, sorted(known)))
        raise ConfigError(f"there is no broker {missing[0]}; the cluster has {listed}")
    racks = {each: known[each].rack for each in wanted}
    moves: Moves = {}
    for topic in (await connection.use(TopicDescriptionOperations).describe_topics(topics)).values():
        copies = replication_factor or len(topic.partitions[0].replicas)
        if copies > len(wanted):
            raise ConfigError(f"{topic.name} has {copies} replicas of each partition: name as many brokers at least")
        start, shift = random.randrange(len(wanted)), random.randrange(len(wanted))
        assigned = assign_replicas(racks, len(topic.partitions), copies, start=start, shift=shift)
        for info in topic.partitions:
            moves[TopicPartition(topic.name, info.partition)] = (info.replicas, list(assigned[info.partition]))
    return moves


def _ids(brokers: str) -> list[int]:
    try:
        return list(dict.fromkeys(int(each) for each in brokers.split(",")))
    except ValueError:
        raise ConfigError(f"--brokers takes ids of brokers, as in 0,1,2, and not {brokers!r}") from None


async def move(connection: Connection, replicas: Mapping[TopicPartition, list[int]], throttle: int | None) -> None:
    """Carry it out; Ctrl-C ends the wait, and the brokers go on."""
    operations = connection.use(ReassignmentOperations)
    plan = Plan(replicas=dict(replicas))
    if throttle is not None:
        described = await connection.use(TopicDescriptionOperations).describe_topics(plan.topics)
        before = {
            TopicPartition(topic.name, info.partition): info.replicas
            for topic in described.values()
            for info in topic.partitions
        }
        moving = await operations.list_partition_reassignments()
        await throttle_moves(connection, plan, before, moving, throttle)
    await operations.alter_partition_reassignments(plan.replicas)
    left = set(replicas)
    with progress("moving partitions", len(left)) as advance:
        while left:
            there = left & set(await operations.list_partition_reassignments(left))
            advance(len(left) - len(there))
            left = there
            if left:
                await asyncio.sleep(LOOK_AGAIN_S)
    if throttle is not None:
        await clear_throttles(connection, plan.topics)
