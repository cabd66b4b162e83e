"""Brokers come and go, their directories fail, and leaders move."""

from __future__ import annotations

import pytest

from moldau.cluster.store import CreateMode
from moldau.cluster.znodes.brokers import BrokerRegistration, Endpoint
from moldau.cluster.znodes.configs import encode_config
from moldau.cluster.znodes.layout import LOG_DIR_EVENT_PREFIX, LOG_DIR_EVENTS, broker_path, config_path
from moldau.cluster.znodes.log_dir_events import encode_log_dir_event
from moldau.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from moldau.protocol.messages.stop_replica import StopReplicaRequest
from moldau.protocol.messages.update_metadata import UpdateMetadataRequest
from tests.unit.controller.controlled_cluster import Cluster, registration_of, run_cluster

ORDERS = ("orders", 0)


def test_a_dead_leader_is_replaced_from_the_isr_in_the_order_of_the_replicas() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2, 3)
        await cluster.create_topic("orders", [3, 1, 2])
        assert (await cluster.state("orders")).leader == 3
        await cluster.set_isr(ORDERS, 2, 3, 1)
        await cluster.kill(3)
        state = await cluster.state("orders")
        assert (state.leader, state.isr) == (1, (2, 1))
        assert state.leader_epoch > 0
        for broker_id in (1, 2):
            told = cluster.brokers[broker_id].replicas[ORDERS]
            assert (told.leader, told.leader_epoch, told.isr) == (1, state.leader_epoch, [2, 1])
            metadata = cluster.brokers[broker_id].metadata[ORDERS]
            assert (metadata.leader, metadata.offline_replicas) == (1, [3])
            assert cluster.brokers[broker_id].live_brokers == [1, 2]

    run_cluster(scenario)


def test_others_lead_as_soon_as_nobody_listens_where_the_leader_was() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2, 3)
        await cluster.create_topic("orders", [3, 1, 2])
        await cluster.create_topic("alone", [3])
        cluster.nodes[1].channels.on_gone(3)
        await cluster.settle()
        state = await cluster.state("orders")
        assert (state.leader, state.isr) == (1, (1, 2))
        assert (await cluster.state("alone")).leader == 3, "there is nobody else"
        assert await cluster.client.exists(broker_path(3)), "it is registered until its session ends"
        await cluster.kill(3)
        assert (await cluster.state("orders")) == state, "nothing is left to do"
        await cluster.start(3)
        assert cluster.brokers[3].replicas[ORDERS].leader == 1
        assert (await cluster.state("alone")).leader == 3

    run_cluster(scenario)


def test_a_broker_that_listens_again_under_its_registration_follows_and_may_lead() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(2, 1, 3)
        await cluster.create_topic("orders", [3, 1, 2])
        cluster.nodes[2].channels.on_gone(3)
        await cluster.settle()
        cluster.nodes[2].channels.on_back(3)
        await cluster.settle()
        assert cluster.brokers[3].replicas[ORDERS].leader == 1
        await cluster.set_isr(ORDERS, 1, 2, 3)
        await cluster.kill(1)
        assert (await cluster.state("orders")).leader == 3

    run_cluster(scenario)


def test_a_follower_that_dies_leaves_the_isr() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [1, 2])
        await cluster.kill(2)
        state = await cluster.state("orders")
        assert (state.leader, state.isr, state.leader_epoch) == (1, (1,), 1)
        assert cluster.brokers[1].replicas[ORDERS].isr == [1]

    run_cluster(scenario)


def test_a_sole_replica_keeps_its_place_in_the_isr_and_leads_again_when_it_is_back() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [2])
        await cluster.kill(2)
        state = await cluster.state("orders")
        assert (state.leader, state.isr) == (-1, (2,))
        assert cluster.brokers[1].metadata[ORDERS].leader == -1
        await cluster.start(2)
        assert (await cluster.state("orders")).leader == 2
        assert cluster.brokers[2].leads() == [ORDERS]
        assert cluster.brokers[1].metadata[ORDERS].leader == 2

    run_cluster(scenario)


@pytest.mark.parametrize("allowed", [False, True])
def test_a_replica_that_is_not_in_sync_leads_only_if_unclean_elections_are_allowed(allowed: bool) -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        config = {"unclean.leader.election.enable": str(allowed).lower()}
        await cluster.create_topic("orders", [2, 1], config=config)
        await cluster.set_isr(ORDERS, 2)
        await cluster.kill(2)
        state = await cluster.state("orders")
        if allowed:
            assert (state.leader, state.isr, state.is_recovering) == (1, (1,), True)
            assert cluster.brokers[1].replicas[ORDERS].leader_recovery_state == 1
        else:
            assert (state.leader, state.isr, state.is_recovering) == (-1, (2,), False)

    run_cluster(scenario)


def test_enabling_unclean_elections_for_a_topic_helps_what_has_no_leader() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [2, 1])
        await cluster.set_isr(ORDERS, 2)
        await cluster.kill(2)
        await cluster.client.set(
            config_path("topics", "orders"), encode_config({"unclean.leader.election.enable": "true"})
        )
        cluster.controller.unclean_election_enabled("orders")
        await cluster.settle()
        assert (await cluster.state("orders")).leader == 1

    run_cluster(scenario)


def test_a_new_broker_is_told_everything_and_the_others_only_of_the_broker() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1)
        await cluster.create_topic("orders", [1], [1])
        cluster.brokers[1].requests.clear()
        await cluster.start(2)
        (first, *_others) = cluster.brokers[2].requests
        assert isinstance(first, UpdateMetadataRequest)
        assert [len(topic.partition_states) for topic in first.topic_states] == [2]
        (told,) = cluster.brokers[1].requests
        assert isinstance(told, UpdateMetadataRequest)
        assert told.topic_states == []
        assert [broker.id for broker in told.live_brokers] == [1, 2]

    run_cluster(scenario)


def test_a_broker_that_is_back_before_its_absence_was_seen_went_and_came() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [2, 1])
        before = await cluster.state("orders")
        await cluster.kill(2, settle=False)
        await cluster.start(2)
        state = await cluster.state("orders")
        assert (state.leader, state.isr) == (1, (1,))
        assert state.leader_epoch > before.leader_epoch
        assert cluster.brokers[2].replicas[ORDERS].leader == 1

    run_cluster(scenario)


def test_when_several_die_at_once_the_survivor_leads() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2, 3, 4)
        await cluster.create_topic("orders", [2, 3, 4])
        await cluster.kill(2, 3)
        state = await cluster.state("orders")
        assert (state.leader, state.isr) == (4, (4,))

    run_cluster(scenario)


def test_a_broker_that_changes_its_address_is_reached_there_and_all_are_told() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.client.set(broker_path(2), registration_of(2, port=9999).encode())
        await cluster.settle()
        (last,) = cluster.brokers[1].heard(UpdateMetadataRequest)[-1:]
        assert [broker.endpoints[0].port for broker in last.live_brokers] == [9092, 9999]
        await cluster.create_topic("orders", [2])
        (told,) = cluster.brokers[2].heard(LeaderAndIsrRequest)
        assert [(each.broker_id, each.host_name, each.port) for each in told.live_leaders] == [(2, "broker2", 9999)]

    run_cluster(scenario)


def test_replicas_on_a_failed_directory_are_offline_until_they_are_well_again() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [2, 1])
        await cluster.create_topic("other", [2, 1])
        cluster.brokers[2].failed_directories.add(ORDERS)
        await cluster.client.create(LOG_DIR_EVENT_PREFIX, encode_log_dir_event(2), CreateMode.PERSISTENT_SEQUENTIAL)
        await cluster.settle()
        assert (await cluster.state("orders")).leader == 1
        assert (await cluster.state("orders")).isr == (1,)
        assert (await cluster.state("other")).leader == 2
        assert cluster.brokers[1].metadata[ORDERS].offline_replicas == [2]
        assert await cluster.client.children(LOG_DIR_EVENTS) == []
        # The broker is restarted with a new disk.
        cluster.brokers[2].failed_directories.clear()
        await cluster.kill(2)
        await cluster.start(2)
        assert cluster.brokers[2].replicas[ORDERS].leader == 1
        assert cluster.brokers[1].metadata[ORDERS].offline_replicas == []

    run_cluster(scenario)


def test_a_broker_that_does_not_answer_gets_its_requests_in_order_when_it_does() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        cluster.brokers[2].is_reachable = False
        for number in range(5):
            await cluster.create_topic(f"topic{number}", [2, 1])
        assert cluster.brokers[2].leads() == []
        cluster.brokers[2].is_reachable = True
        await cluster.settle()
        assert cluster.brokers[2].leads() == [(f"topic{number}", 0) for number in range(5)]
        assert [request.topic_states[0].topic_name for request in cluster.brokers[2].heard(LeaderAndIsrRequest)] == [
            f"topic{number}" for number in range(5)
        ]

    run_cluster(scenario)


def test_a_broker_whose_queue_overflows_is_told_everything_anew() -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.queued_max = 6
        await cluster.start(1, 2)
        cluster.brokers[2].is_reachable = False
        for number in range(8):
            await cluster.create_topic(f"topic{number}", [2, 1])
        cluster.brokers[2].is_reachable = True
        await cluster.settle()
        await cluster.settle()
        assert len(cluster.brokers[2].replicas) == 8
        assert len(cluster.brokers[2].metadata) == 8

    run_cluster(scenario)


def test_requests_carry_the_epochs_and_stop_nothing_without_need() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [1, 2])
        (request,) = cluster.brokers[1].heard(LeaderAndIsrRequest)
        assert (request.controller_id, request.controller_epoch) == (1, 1)
        assert request.broker_epoch == cluster.brokers[1].broker_epoch
        (state,) = request.topic_states[0].partition_states
        assert (state.leader, state.isr, state.replicas) == (1, [1, 2], [1, 2])
        assert (state.is_new, state.leader_epoch) == (True, 0)
        assignment = await cluster.assignment("orders")
        assert assignment is not None
        assert request.topic_states[0].topic_id == assignment.topic_id
        assert cluster.brokers[1].heard(StopReplicaRequest) == []

    run_cluster(scenario)


def test_a_broker_that_cannot_be_understood_or_reached_does_not_stop_the_others() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1)
        await cluster.client.create(broker_path(7), b"nonsense")
        elsewhere = BrokerRegistration((Endpoint("OTHER", "broker8", 9092, "SSL"),), timestamp_ms=1)
        await cluster.client.create(broker_path(8), elsewhere.encode())
        await cluster.create_topic("orders", [1, 7, 8])
        assert cluster.brokers[1].leads() == [ORDERS]
        assert cluster.brokers[1].live_brokers == [1, 8]

    run_cluster(scenario)


def test_a_topic_created_while_a_broker_is_down_and_deleted_before_it_is_back() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.kill(2)
        await cluster.create_topic("orders", [2, 1])
        assert (await cluster.state("orders")).isr == (1,)
        await cluster.delete_topic("orders")
        assert await cluster.assignment("orders") is not None
        await cluster.start(2)
        assert await cluster.assignment("orders") is None

    run_cluster(scenario)
