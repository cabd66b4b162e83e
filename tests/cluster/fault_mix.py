"""The faults, one function each: what breaks, for how long, and how it is repaired."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from random import Random
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from moldau.base.errors import MoldauError
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from tests.cluster.cluster_process import SESSION_TIMEOUT_MS, ZOOKEEPER, ProcessCluster, name_of, wait_until
from tests.cluster.cluster_view import ask

SESSION_S = SESSION_TIMEOUT_MS / 1000
DISK_S_MAX = 20.0
ADMIN_S_MAX = 5.0
REASSIGNED_S_MAX = 60.0
TOPIC = "orders"
PARTITIONS = 6

Fault = Callable[[ProcessCluster, Random], str]
"""Breaks something, waits, repairs it, and says what it did."""


def kill_a_broker(cluster: ProcessCluster, random: Random) -> str:
    return _kill(cluster, random, random.choice(cluster.running))


def kill_the_controller(cluster: ProcessCluster, random: Random) -> str:
    return _kill(cluster, random, controller_of(cluster))


def stop_a_broker(cluster: ProcessCluster, random: Random) -> str:
    broker_id, away_s = random.choice(cluster.running), random.uniform(0, 5)
    code = cluster.stop(broker_id)
    assert code == cluster.clean_exit_code, f"broker {broker_id} ended with code {code}"
    time.sleep(away_s)
    cluster.start(broker_id)
    return f"broker {broker_id}, away for {away_s:.1f} s"


def pause_a_broker(cluster: ProcessCluster, random: Random) -> str:
    """For less or for more than its session lives."""
    broker_id, away_s = random.choice(cluster.running), random.uniform(0.5, 2 * SESSION_S)
    cluster.pause(broker_id)
    time.sleep(away_s)
    cluster.resume(broker_id)
    return f"broker {broker_id} for {away_s:.1f} s"


def cut_a_broker_from_the_others(cluster: ProcessCluster, random: Random) -> str:
    broker_id, away_s = random.choice(cluster.running), random.uniform(1, 15)
    cluster.isolate(broker_id)
    time.sleep(away_s)
    cluster.network.heal()
    return f"broker {broker_id} for {away_s:.1f} s"


def cut_two_brokers(cluster: ProcessCluster, random: Random) -> str:
    one, other = random.sample(list(cluster.ids), 2)
    away_s = random.uniform(1, 15)
    cluster.network.cut(name_of(one), name_of(other))
    time.sleep(away_s)
    cluster.network.heal()
    return f"brokers {one} and {other} for {away_s:.1f} s"


def cut_a_broker_from_zookeeper(cluster: ProcessCluster, random: Random) -> str:
    broker_id, away_s = random.choice(cluster.running), random.uniform(1, 2 * SESSION_S)
    cluster.cut_from_zookeeper(broker_id)
    time.sleep(away_s)
    cluster.network.heal()
    return f"broker {broker_id} for {away_s:.1f} s"


def cut_a_broker_from_everything(cluster: ProcessCluster, random: Random) -> str:
    """But not from its clients: it must not acknowledge what others will not have."""
    broker_id, away_s = random.choice(cluster.running), random.uniform(1, 2 * SESSION_S)
    cluster.isolate(broker_id)
    cluster.cut_from_zookeeper(broker_id)
    time.sleep(away_s)
    cluster.network.heal()
    return f"broker {broker_id} for {away_s:.1f} s"


def kill_zookeeper(cluster: ProcessCluster, random: Random) -> str:
    node, away_s = random.randrange(len(cluster.ensemble.ports)), random.uniform(0, 8)
    cluster.ensemble.kill(node)
    time.sleep(away_s)
    cluster.ensemble.start(node)
    return f"node {node} for {away_s:.1f} s"


def kill_all_zookeepers(cluster: ProcessCluster, random: Random) -> str:
    nodes, away_s = range(len(cluster.ensemble.ports)), random.uniform(1, 3 * SESSION_S)
    cluster.ensemble.kill(*nodes)
    time.sleep(away_s)
    cluster.ensemble.start(*nodes)
    return f"for {away_s:.1f} s"


def restart_all_brokers_in_turn(cluster: ProcessCluster, _random: Random) -> str:
    for broker_id in cluster.ids:
        code = cluster.stop(broker_id)
        assert code == cluster.clean_exit_code, f"broker {broker_id} ended with code {code}"
        cluster.start(broker_id)
    return "all"


def fill_a_disk(cluster: ProcessCluster, random: Random) -> str:
    """A broker whose only directory fails gives up."""
    broker_id = random.choice(cluster.running)
    cluster.fill_disk(broker_id)
    with suppress(subprocess.TimeoutExpired):  # it leads nothing now, and follows nothing that is written to
        cluster.wait_for_end(broker_id, DISK_S_MAX)
        cluster.start(broker_id)
        return f"broker {broker_id}, which gave up"
    cluster.kill(broker_id)
    cluster.start(broker_id)
    return f"broker {broker_id}, which did not notice"


def slow_a_follower_down(cluster: ProcessCluster, random: Random) -> str:
    broker_id, away_s, delay_s = random.choice(cluster.running), random.uniform(2, 10), random.uniform(0.01, 0.5)
    for other in (*map(name_of, cluster.ids), ZOOKEEPER):
        if other != name_of(broker_id):
            cluster.network.slow(name_of(broker_id), other, delay_s)
    time.sleep(away_s)
    cluster.network.heal()
    return f"broker {broker_id} by {delay_s * 1000:.0f} ms for {away_s:.1f} s"


def kill_the_controller_at_work(cluster: ProcessCluster, random: Random) -> str:
    """While it creates a topic, or deletes one."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    name = f"passing-{random.randrange(10**9)}"
    is_deleting = random.random() < 0.5
    with suppress(KafkaException):
        futures: dict[str, Future[Any]] = admin.create_topics([NewTopic(name, 20, 3)])
        if is_deleting:
            futures[name].result(ADMIN_S_MAX)
            admin.delete_topics([name])
    time.sleep(random.uniform(0, 0.1))
    what = "deleting" if is_deleting else "creating"
    return f"{what} {name}: " + _kill(cluster, random, controller_of(cluster))


def kill_the_controller_during_a_reassignment(cluster: ProcessCluster, random: Random) -> str:
    """A partition loses a replica, and gets it back, in another order; in between the controller dies."""
    index, replicas = random.randrange(PARTITIONS), random.sample(list(cluster.ids), len(cluster.ids))
    _reassign(cluster, index, replicas[:-1])
    time.sleep(random.uniform(0, 0.2))
    killed = _kill(cluster, random, controller_of(cluster))
    _reassign(cluster, index, replicas)
    return f"{TOPIC}-{index} to {replicas}: {killed}"


def _reassign(cluster: ProcessCluster, index: int, replicas: list[int]) -> None:
    """Ask until a controller has agreed; it is carried out whatever happens afterwards."""
    partition = ReassignablePartition(partition_index=index, replicas=replicas)
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name=TOPIC, partitions=[partition])])

    def is_agreed() -> bool:
        try:
            answer = ask(cluster, controller_of(cluster), request)
        except (MoldauError, TimeoutError):
            return False
        return not answer.error_code and not answer.responses[0].partitions[0].error_code

    wait_until(is_agreed, f"{TOPIC}-{index} is reassigned to {replicas}", REASSIGNED_S_MAX)


FAULTS: dict[str, Fault] = {
    function.__name__.replace("_", " "): function
    for function in (
        kill_a_broker,
        kill_the_controller,
        kill_the_controller_at_work,
        kill_the_controller_during_a_reassignment,
        restart_all_brokers_in_turn,
        stop_a_broker,
        pause_a_broker,
        cut_a_broker_from_the_others,
        cut_two_brokers,
        cut_a_broker_from_zookeeper,
        cut_a_broker_from_everything,
        kill_zookeeper,
        kill_all_zookeepers,
        fill_a_disk,
        slow_a_follower_down,
    )
}


def controller_of(cluster: ProcessCluster) -> int:
    """Who is the controller, as the brokers say; any broker if they say nothing."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    with suppress(KafkaException):
        controller_id: int = admin.list_topics(timeout=ADMIN_S_MAX).controller_id
        if controller_id in cluster.running:
            return controller_id
    return cluster.running[0]


def _kill(cluster: ProcessCluster, random: Random, broker_id: int) -> str:
    away_s = random.uniform(0, 1.5 * SESSION_S)
    cluster.kill(broker_id)
    time.sleep(away_s)
    cluster.start(broker_id)
    return f"broker {broker_id}, away for {away_s:.1f} s"
