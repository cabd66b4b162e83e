"""Brokers whose sessions expire while they run: they register again, and the controller resigns and stands again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from moldau.broker.node import Node
from moldau.cluster.store import SessionState
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from moldau.testing.local_cluster import LocalCluster

TOPIC_RESOURCE = 2
WAIT_S_MAX = 15.0


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(brokers=3) as brokers:
        yield brokers


def _wait(condition: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + WAIT_S_MAX
    while not condition():
        assert time.monotonic() < ends_at, "it does not come true"
        time.sleep(0.01)


def _is_registered_anew(cluster: LocalCluster, broker_id: int, session_id: int) -> bool:
    def look(node: Node) -> bool:
        return node.session.session_id != session_id and node.session.state is SessionState.CONNECTED

    return cluster.run_in_loop(look, broker_id)


@pytest.mark.slow
@pytest.mark.parametrize("controller_too", [False, True])
def test_a_broker_whose_session_has_expired_registers_again_and_goes_on(
    cluster: LocalCluster, controller_too: bool
) -> None:
    cluster.create_topic("t", partitions=6, replication_factor=3)
    controller = cluster.controller_id
    epoch_before = cluster.run_in_loop(lambda node: node.controller.epoch, controller)
    victim = controller if controller_too else (controller + 1) % 3
    broker_epoch, session_id = cluster.run_in_loop(lambda node: (node.broker_epoch, node.session.session_id), victim)
    cluster.expire_session(victim)
    _wait(lambda: _is_registered_anew(cluster, victim, session_id))
    assert cluster.run_in_loop(lambda node: node.broker_epoch, victim) > broker_epoch

    def everything_is_led_and_in_sync() -> bool:
        def look(node: Node) -> bool:
            partitions = [node.metadata.partition("t", number) for number in range(6)]
            return all(p is not None and p.leader >= 0 and len(p.isr) == 3 for p in partitions)

        return all(cluster.run_in_loop(look, broker_id) for broker_id in cluster.running)

    _wait(everything_is_led_and_in_sync)
    active = [one for one in cluster.running if cluster.run_in_loop(lambda node: node.controller.is_active, one)]
    assert len(active) == 1
    epoch = cluster.run_in_loop(lambda node: node.controller.epoch, active[0])
    assert epoch == epoch_before + controller_too
    cluster.create_topic("after", partitions=3, replication_factor=3)
    _change_retention(cluster, active[0])
    # Watches are set anew: the broker hears of settings that another one has changed.
    _wait(lambda: cluster.run_in_loop(lambda node: node.configs.topic("t").integer("retention.ms"), victim) == 12345)


def _change_retention(cluster: LocalCluster, at: int) -> None:
    change = AlterableConfig(name="retention.ms", config_operation=0, value="12345")
    resource = AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name="t", configs=[change])
    answer = cluster.request(IncrementalAlterConfigsRequest(resources=[resource]), broker_id=at)
    assert answer.responses[0].error_code == 0


@pytest.mark.slow
def test_the_only_broker_is_its_own_successor() -> None:
    with LocalCluster() as cluster:
        cluster.create_topic("t")
        for _ in range(3):
            session_id = cluster.run_in_loop(lambda node: node.session.session_id)
            cluster.expire_session(0)
            _wait(partial(_is_registered_anew, cluster, 0, session_id))
            assert cluster.controller_id == 0
        cluster.create_topic("u")
        assert cluster.run_in_loop(lambda node: node.controller.epoch) == 4
