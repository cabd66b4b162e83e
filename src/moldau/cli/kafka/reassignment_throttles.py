"""What a reassignment may take of the network and the disks: settings that it sets, and `--verify` takes away.

A rate is a setting of brokers; which replicas it counts for is a setting of topics: on the leaders' side those that
send, on the followers' side those that are new.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from moldau.cli.kafka.connecting import Connection
from moldau.cli.kafka.reassignment_plan import Plan, Replicas
from moldau.clients.admin.cluster_operations import ClusterOperations
from moldau.clients.admin.config_entries import ConfigResource
from moldau.clients.admin.configs import ConfigOperations
from moldau.clients.admin.reassignments import PartitionReassignment
from moldau.clients.records import TopicPartition

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
DIRECTORY_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
MUST_VERIFY = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is removed."
)


async def throttle_moves(
    connection: Connection,
    plan: Plan,
    current: Replicas,
    moving: Mapping[TopicPartition, PartitionReassignment],
    bytes_per_second: int,
) -> None:
    """Limit what brokers send each other for the plan and for what is moving already."""
    leaders: dict[str, list[str]] = {}
    followers: dict[str, list[str]] = {}
    brokers: set[int] = set()
    for partition in {*plan.replicas, *moving}:
        now = set(current.get(partition, ()))
        wanted = set(plan.replicas.get(partition, ()))
        if (active := moving.get(partition)) is not None:
            now = now | set(active.replicas) - set(active.adding_replicas)
            wanted |= set(active.adding_replicas) if partition not in plan.replicas else set()
        leaders.setdefault(partition.topic, []).extend(f"{partition.partition}:{each}" for each in sorted(now))
        followers.setdefault(partition.topic, []).extend(
            f"{partition.partition}:{each}" for each in sorted(wanted - now)
        )
        brokers |= now | wanted
    operations = connection.use(ConfigOperations)
    await operations.incremental_alter_configs(
        {
            ConfigResource.topic(topic): {
                LEADER_REPLICAS: ",".join(leaders[topic]),
                FOLLOWER_REPLICAS: ",".join(followers[topic]),
            }
            for topic in leaders
        }
    )
    rates = {LEADER_RATE: str(bytes_per_second), FOLLOWER_RATE: str(bytes_per_second)}
    await operations.incremental_alter_configs({ConfigResource.broker(each): rates for each in sorted(brokers)})
    print(f"The inter-broker throttle limit was set to {bytes_per_second} B/s")


async def throttle_directories(connection: Connection, plan: Plan, bytes_per_second: int) -> None:
    """Limit what brokers copy between their directories."""
    brokers = sorted({replica.broker_id for replica in plan.directories})
    await connection.use(ConfigOperations).incremental_alter_configs(
        {ConfigResource.broker(each): {DIRECTORY_RATE: str(bytes_per_second)} for each in brokers}
    )
    print(f"The replica-alter-dir throttle limit was set to {bytes_per_second} B/s")


async def clear_throttles(connection: Connection, topics: Iterable[str]) -> None:
    """Take all limits away: nobody remembers which brokers were part of it."""
    names = sorted(topics)
    brokers = [node.id for node in await connection.use(ClusterOperations).list_nodes()]
    plural = "s" if len(brokers) > 1 else ""
    print(f"Clearing broker-level throttles on broker{plural} {','.join(map(str, brokers))}")
    operations = connection.use(ConfigOperations)
    none: dict[str, str | None] = dict.fromkeys((LEADER_RATE, FOLLOWER_RATE, DIRECTORY_RATE))
    await operations.incremental_alter_configs({ConfigResource.broker(each): none for each in brokers})
    plural = "s" if len(names) > 1 else ""
    print(f"Clearing topic-level throttles on topic{plural} {','.join(names)}")
    none = dict.fromkeys((LEADER_REPLICAS, FOLLOWER_REPLICAS))
    await operations.incremental_alter_configs({ConfigResource.topic(each): none for each in names})
