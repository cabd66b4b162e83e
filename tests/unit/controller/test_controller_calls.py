"""What brokers and operators ask of the controller: shutdown, elections, producer ids, features."""

from __future__ import annotations

import asyncio

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.cluster.znodes.brokers import BrokerRegistration, FeatureVersions
from moldau.cluster.znodes.layout import (
    CONTROLLER,
    FEATURE,
    LATEST_PRODUCER_ID_BLOCK,
    PREFERRED_REPLICA_ELECTION,
    partition_state_path,
)
from moldau.cluster.znodes.partition_lists import encode_partitions
from moldau.cluster.znodes.producer_ids import ProducerIdBlock
from moldau.controller.leader_elections import ElectionType
from moldau.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from moldau.protocol.messages.stop_replica import StopReplicaRequest
from moldau.protocol.messages.update_features import FeatureUpdateKey
from tests.unit.controller.controlled_cluster import Cluster, registration_of, run_cluster

ORDERS = ("orders", 0)


# -- controlled shutdown


def test_a_broker_that_shuts_down_hands_over_and_leaves_the_isrs_while_it_lives() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("led", [2, 1])
        await cluster.create_topic("followed", [1, 2])
        await cluster.create_topic("alone", [2])
        remaining = await cluster.controller.controlled_shutdown(2, cluster.brokers[2].broker_epoch)
        assert remaining == set()
        await cluster.settle()
        for topic in ("led", "followed"):
            state = await cluster.state(topic)
            assert (state.leader, state.isr, state.leader_epoch) == (1, (1,), 1)
        assert (await cluster.state("alone")).leader == 2
        assert cluster.brokers[2].replicas["led", 0].leader == 1
        (stop,) = cluster.brokers[2].heard(StopReplicaRequest)
        assert [topic.topic_name for topic in stop.topic_states] == ["followed"]
        assert not stop.topic_states[0].partition_states[0].delete_partition
        await cluster.stop(2)
        assert (await cluster.state("alone")).leader == -1
        await cluster.start(2)
        assert (await cluster.state("alone")).leader == 2

    run_cluster(scenario)


def test_what_nobody_else_can_lead_remains_and_a_new_leader_is_not_sought_among_the_leaving() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2, 3)
        await cluster.create_topic("orders", [2, 3])
        await cluster.set_isr(ORDERS, 2)
        assert await cluster.controller.controlled_shutdown(2, -1) == {ORDERS}
        await cluster.create_topic("new", [2, 1])
        assert (await cluster.state("new")).leader == 1

    run_cluster(scenario)


def test_a_shutdown_of_the_controller_itself_is_obeyed() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [1, 2])
        assert await cluster.controller.controlled_shutdown(1, cluster.brokers[1].broker_epoch) == set()
        assert (await cluster.state("orders")).leader == 2

    run_cluster(scenario)


def test_a_shutdown_of_nobody_or_of_a_former_life_is_refused() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1)
        for broker_id, broker_epoch, code in (
            (9, -1, ErrorCode.BROKER_NOT_AVAILABLE),
            (1, 0, ErrorCode.STALE_BROKER_EPOCH),
        ):
            with pytest.raises(ApiError) as refused:
                await cluster.controller.controlled_shutdown(broker_id, broker_epoch)
            assert refused.value.code is code

    run_cluster(scenario)


# -- elections on demand


async def lead_elsewhere(cluster: Cluster) -> None:
    """A topic that prefers broker 2, is led by broker 1, and has both in sync."""
    await cluster.start(1, 2)
    await cluster.create_topic("orders", [2, 1])
    await cluster.kill(2)
    await cluster.start(2)
    await cluster.set_isr(ORDERS, 1, 2)


def test_a_preferred_election_gives_leadership_back() -> None:
    async def scenario(cluster: Cluster) -> None:
        await lead_elsewhere(cluster)
        before = await cluster.state("orders")
        # The ISR was changed behind the controller's back: as far as it knows, broker 2 is not in sync.
        outcomes = await cluster.controller.elect_leaders([ORDERS], ElectionType.PREFERRED)
        assert isinstance(outcomes[ORDERS], ApiError)
        await cluster.client.delete(CONTROLLER)
        await cluster.settle()
        outcomes = await cluster.controller.elect_leaders([ORDERS], ElectionType.PREFERRED)
        assert outcomes == {ORDERS: 2}
        await cluster.settle()
        state = await cluster.state("orders")
        assert (state.leader, state.isr, state.leader_epoch) == (2, (1, 2), before.leader_epoch + 1)
        assert cluster.brokers[1].replicas[ORDERS].leader == 2

    run_cluster(scenario)


def test_elections_that_are_not_needed_or_not_possible() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", [1, 2])
        await cluster.create_topic("away", [2, 1])
        await cluster.create_topic("doomed", [2, 1])
        await cluster.create_topic("unborn", [7])
        await cluster.kill(2)
        await cluster.delete_topic("doomed")
        asked = [ORDERS, ("away", 0), ("doomed", 0), ("nothing", 0), ("orders", 5), ("unborn", 0)]
        outcomes = await cluster.controller.elect_leaders(asked, ElectionType.PREFERRED)
        codes = {partition: each.code for partition, each in outcomes.items() if isinstance(each, ApiError)}
        assert codes == {
            ORDERS: ErrorCode.ELECTION_NOT_NEEDED,
            ("away", 0): ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
            ("doomed", 0): ErrorCode.INVALID_TOPIC_EXCEPTION,
            ("nothing", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ("orders", 5): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ("unborn", 0): ErrorCode.LEADER_NOT_AVAILABLE,
        }
        everything = await cluster.controller.elect_leaders(None, ElectionType.UNCLEAN)
        assert set(everything) == {ORDERS, ("away", 0), ("doomed", 0), ("unborn", 0)}

    run_cluster(scenario)


def test_an_unclean_election_on_demand_takes_any_replica_that_lives() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2, 3)
        await cluster.create_topic("orders", [2, 1])
        await cluster.create_topic("lost", [2, 3])
        await cluster.set_isr(ORDERS, 2)
        await cluster.kill(2, 3)
        asked = [ORDERS, ("lost", 0)]
        outcomes = await cluster.controller.elect_leaders(asked, ElectionType.UNCLEAN)
        assert outcomes[ORDERS] == 1
        lost = outcomes["lost", 0]
        assert isinstance(lost, ApiError)
        assert lost.code is ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        state = await cluster.state("orders")
        assert (state.leader, state.isr, state.is_recovering) == (1, (1,), True)

    run_cluster(scenario)


def test_the_znode_of_old_tools_is_obeyed_and_deleted() -> None:
    async def scenario(cluster: Cluster) -> None:
        await lead_elsewhere(cluster)
        await cluster.client.delete(CONTROLLER)
        await cluster.settle()
        for data in (b"nonsense", encode_partitions([ORDERS, ("nothing", 0)])):
            await cluster.client.create(PREFERRED_REPLICA_ELECTION, data)
            await cluster.settle()
            assert await cluster.client.exists(PREFERRED_REPLICA_ELECTION) is None
        assert (await cluster.state("orders")).leader == 2

    run_cluster(scenario)


def test_leaders_go_back_by_themselves() -> None:
    async def scenario(cluster: Cluster) -> None:
        await lead_elsewhere(cluster)
        await cluster.client.delete(CONTROLLER)  # so that the controller reads the ISR
        await asyncio.sleep(4)
        assert (await cluster.state("orders")).leader == 1
        await asyncio.sleep(2)
        assert (await cluster.state("orders")).leader == 2
        await cluster.kill(2)
        await cluster.start(2)
        await cluster.set_isr(ORDERS, 1, 2)
        await cluster.client.create("/isr_change_notification/isr_change_1", encode_partitions([ORDERS]))
        await asyncio.sleep(61)
        assert (await cluster.state("orders")).leader == 2

    run_cluster(scenario, auto_leader_rebalance_enable="true", leader_imbalance_check_interval_seconds="60")


@pytest.mark.parametrize(("led_elsewhere", "go_back"), [(1, False), (2, True)])
def test_leaders_go_back_only_if_more_than_the_share_of_a_broker_is_elsewhere(
    led_elsewhere: int, go_back: bool
) -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        await cluster.create_topic("orders", *([2, 1] for _ in range(10)))
        for index in range(led_elsewhere):
            state = (await cluster.state("orders", index)).next(leader=1).znode()
            await cluster.client.set(partition_state_path("orders", index), state.encode())
        await cluster.client.delete(CONTROLLER)
        await asyncio.sleep(7)
        leaders = {(await cluster.state("orders", index)).leader for index in range(led_elsewhere)}
        assert leaders == {2 if go_back else 1}

    run_cluster(scenario, auto_leader_rebalance_enable="true")


# -- producer ids


def test_blocks_of_producer_ids_are_handed_out_once() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1, 2)
        blocks = []
        for round_ in range(3):
            for broker_id in sorted(cluster.nodes):
                epoch = cluster.brokers[broker_id].broker_epoch
                blocks.append(await cluster.controller.allocate_producer_ids(broker_id, epoch))
            if round_ == 1:
                await cluster.kill(1)
        assert blocks == [(start, 1000) for start in range(0, 5000, 1000)]
        assert await cluster.json(LATEST_PRODUCER_ID_BLOCK) == {
            "version": 1, "broker": 2, "block_start": "4000", "block_end": "4999",
        }  # fmt: skip

    run_cluster(scenario)


def test_producer_ids_are_refused_to_strangers_and_when_there_are_none_left() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1)
        epoch = cluster.brokers[1].broker_epoch
        last = ProducerIdBlock(1, 2**63 - 1000, 2**63 - 1)
        for broker_id, broker_epoch, code in (
            (9, 1, ErrorCode.BROKER_ID_NOT_REGISTERED),
            (1, epoch - 1, ErrorCode.STALE_BROKER_EPOCH),
            (1, epoch, ErrorCode.UNKNOWN_SERVER_ERROR),
        ):
            await cluster.client.set(LATEST_PRODUCER_ID_BLOCK, last.encode())
            with pytest.raises(ApiError) as refused:
                await cluster.controller.allocate_producer_ids(broker_id, broker_epoch)
            assert refused.value.code is code

    run_cluster(scenario)


# -- features


def supporting(broker_id: int) -> BrokerRegistration:
    plain = registration_of(broker_id)
    return BrokerRegistration(plain.endpoints, 1, features={"group.version": FeatureVersions(1, 3)})


def test_no_feature_is_supported_as_in_kafka() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start(1)
        assert await cluster.json(FEATURE) == {"version": 2, "status": 1, "features": {}}
        updates = [FeatureUpdateKey(feature="metadata.version", max_version_level=1), FeatureUpdateKey(feature="")]
        outcomes = await cluster.controller.update_features(updates)
        assert [error.code for error in outcomes.values() if error] == [ErrorCode.INVALID_REQUEST] * 2

    run_cluster(scenario)


def test_features_that_all_brokers_support_can_be_raised_lowered_and_removed() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start_broker(1, supporting(1))
        for level, downgrade, validate_only, is_done, left in (
            (4, False, False, False, None),
            (3, False, True, True, None),
            (3, False, False, True, 3),
            (3, False, False, False, 3),
            (2, False, False, False, 3),
            (2, True, False, True, 2),
            (-1, True, False, False, 2),
            (0, False, False, False, 2),
            (0, True, False, True, None),
            (0, True, False, False, None),
        ):
            update = FeatureUpdateKey(feature="group.version", max_version_level=level, allow_downgrade=downgrade)
            outcomes = await cluster.controller.update_features([update], validate_only=validate_only)
            assert (outcomes["group.version"] is None) is is_done, level
            content = await cluster.json(FEATURE)
            assert isinstance(content, dict)
            assert content["features"].get("group.version") == left, level

    run_cluster(scenario)


def test_with_one_error_for_all_nothing_is_changed() -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.start_broker(1, supporting(1))
        updates = [
            FeatureUpdateKey(feature="group.version", max_version_level=1),
            FeatureUpdateKey(feature="other", max_version_level=1),
        ]
        await cluster.controller.update_features(updates, all_or_none=True)
        content = await cluster.json(FEATURE)
        assert isinstance(content, dict)
        assert content["features"] == {}

    run_cluster(scenario)


@pytest.mark.parametrize("data", [b"nonsense", b'{"version":1,"status":0,"features":{}}'])
def test_a_feature_znode_that_is_broken_or_disabled_is_set_up_anew(data: bytes) -> None:
    async def scenario(cluster: Cluster) -> None:
        await cluster.client.create(FEATURE, data)
        await cluster.start(1)
        assert await cluster.json(FEATURE) == {"version": 2, "status": 1, "features": {}}
        assert cluster.brokers[1].heard(LeaderAndIsrRequest) == []

    run_cluster(scenario)
