"""Partitions, groups and jobs: is everything led and copied, does everybody keep up, what is under way."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence

from moldau.base.errors import ApiError
from moldau.cli.cluster_sample import ASKING_S, ClusterNow, groups_now
from moldau.cli.health.finding import Finding, bad, good, warning
from moldau.cli.kafka.connecting import Connection
from moldau.clients.admin.config_entries import ConfigResource
from moldau.clients.admin.configs import ConfigOperations
from moldau.clients.admin.reassignments import ReassignmentOperations
from moldau.clients.admin.transactions import TransactionOperations
from moldau.clients.records import TopicPartition

NAMED_MAX = 3
# As leader.imbalance.per.broker.percentage has it.
IMBALANCE_MAX = 0.10
LONG_TRANSACTION_MS = 15 * 60 * 1000


async def check_partitions(connection: Connection, now: ClusterNow) -> AsyncIterator[Finding]:
    infos = {TopicPartition(topic.name, info.partition): info for topic in now.topics for info in topic.partitions}
    leaderless = [each for each, info in infos.items() if info.leader is None]
    behind = [each for each, info in infos.items() if info.leader is not None and len(info.isr) < len(info.replicas)]
    few = await _under_min_isr(connection, now)
    elsewhere = [each for each, info in infos.items() if info.leader is not None and info.leader != info.replicas[0]]
    alone = sorted({each.topic for each, info in infos.items() if len(info.replicas) == 1})
    if leaderless:
        yield bad("partitions", f"without leader: {_some(leaderless)}", "start the brokers that have its replicas")
    if few:
        yield bad("partitions", f"below min.insync.replicas: {_some(few)}", "acks=all fails: start brokers")
    if behind:
        yield warning("partitions", f"under-replicated: {_some(behind)}", "start or look at the brokers not in sync")
    if len(elsewhere) > IMBALANCE_MAX * max(1, len(infos)):
        yield warning(
            "partitions", f"not led by the preferred replica: {_some(elsewhere)}", "kafka-leader-election, preferred"
        )
    if len(now.cluster.nodes) > 1 and alone:
        yield warning("partitions", f"one replica only: {_some(alone)}", "moldau topics move … --replication-factor 3")
    if not leaderless and not behind and not few:
        yield good("partitions", f"{len(infos)} of {len(now.topics)} topics, all with leaders and all replicas in sync")
    yield _leaders(now)


async def _under_min_isr(connection: Connection, now: ClusterNow) -> list[TopicPartition]:
    resources = [ConfigResource.topic(topic.name) for topic in now.topics]
    configs = (await connection.use(ConfigOperations).describe_configs(resources, raise_errors=False)).succeeded
    found = []
    for topic in now.topics:
        config = configs.get(ConfigResource.topic(topic.name))
        smallest = int(config["min.insync.replicas"].value or 1) if config else 1
        found += [
            TopicPartition(topic.name, info.partition)
            for info in topic.partitions
            if info.leader is not None and len(info.isr) < smallest
        ]
    return found


def _leaders(now: ClusterNow) -> Finding:
    counts = Counter(info.leader for topic in now.topics for info in topic.partitions if info.leader is not None)
    shares = ", ".join(f"broker {node.id}: {counts[node.id]}" for node in sorted(now.cluster.nodes))
    return good("partitions", f"leaders by broker: {shares}")


async def check_groups(connection: Connection, _now: ClusterNow, lag_max: int) -> AsyncIterator[Finding]:
    groups = await groups_now(connection)
    late = sorted((each for each in groups if each.lag > lag_max), key=lambda each: -each.lag)
    for group in late[:NAMED_MAX]:
        advice = "start its members" if not group.members else "add members or partitions, or make them faster"
        yield warning("groups", f"{group.name} lags by {group.lag:,} records", advice)
    if len(late) > NAMED_MAX:
        yield warning("groups", f"{len(late) - NAMED_MAX} more groups lag", "moldau groups list")
    moving = [each.name for each in groups if each.state not in ("Stable", "Empty", "Dead")]
    if moving:
        yield warning("groups", f"rebalancing: {_some(moving)}", "look again: do members come and go?")
    if not late and not moving:
        yield good("groups", f"{len(groups)} groups, none more than {lag_max:,} records behind")


async def check_jobs(connection: Connection, _now: ClusterNow) -> AsyncIterator[Finding]:
    try:
        moves = await connection.use(ReassignmentOperations).list_partition_reassignments(timeout_s=ASKING_S)
    except ApiError:  # a broker that does not know the question, or a user who may not ask it
        moves = {}
    if moves:
        yield warning("jobs", f"reassignments under way: {_some(sorted(moves))}", "kafka-reassign-partitions --list")
    else:
        yield good("jobs", "no reassignment is under way")
    try:
        listed = await connection.use(TransactionOperations).list_transactions(
            filtered_duration_ms=LONG_TRANSACTION_MS, states=["Ongoing"], timeout_s=ASKING_S
        )
    except ApiError:
        return
    if listed:
        ids = [each.transactional_id for each in listed]
        yield warning("jobs", f"transactions open for very long: {_some(ids)}", "kafka-transactions find-hanging")
    else:
        yield good("jobs", "no transaction is open for longer than it may be")


def _some(names: Sequence[object]) -> str:
    shown = ", ".join(map(str, names[:NAMED_MAX]))
    return shown if len(names) <= NAMED_MAX else f"{shown} and {len(names) - NAMED_MAX} more"
