"""Statements of the books about the controller and its brokers, on three processes with a real ZooKeeper.

Numbers are those of the statements: b1 and b2 are the two books, c003 is the section of the corrections.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import NewTopic

from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from moldau.protocol.messages.update_metadata import UpdateMetadataRequest
from tests.cluster.checker import check
from tests.cluster.cluster_process import ProcessCluster, process_cluster, wait_until
from tests.cluster.cluster_view import (
    ask,
    create,
    create_topic,
    delete_topic,
    metadata,
    partition,
    partitions,
    send,
    wait_for_isr,
    wait_for_leader,
)
from tests.cluster.faults import is_whole
from tests.cluster.history import History
from tests.cluster.workload import PlainProducer, read_everything, read_values
from tests.cluster.znode_view import ZnodeView

pytestmark = [pytest.mark.java, pytest.mark.slow]

LAG_MS_MAX = 2_000
SLACK_S = 3.0
SETTINGS = {
    "zookeeper.session.timeout.ms": "3000",
    "replica.lag.time.max.ms": str(LAG_MS_MAX),
    "min.insync.replicas": "1",
    "auto.leader.rebalance.enable": "false",
    "log.segment.delete.delay.ms": "500",
}


@pytest.fixture(scope="module")
def running() -> Iterator[ProcessCluster]:
    with process_cluster(SETTINGS) as cluster:
        yield cluster


@pytest.fixture
def cluster(running: ProcessCluster) -> ProcessCluster:
    """All brokers are there."""
    running.network.heal()
    running.start(*(each for each in running.ids if each not in running.running))
    wait_until(lambda: all(len(metadata(running, each).brokers) == 3 for each in running.ids), "all brokers are known")
    return running


@pytest.fixture
def znodes(cluster: ProcessCluster) -> Iterator[ZnodeView]:
    with ZnodeView(cluster.ensemble.connect) as view:
        yield view


def test_b1_5_each_broker_leads_one_of_three_partitions_with_three_replicas(cluster: ProcessCluster) -> None:
    create_topic(cluster, NewTopic("b1-5", 3, 3))
    found = partitions(cluster, 0, "b1-5")
    assert sorted(each.leader_id for each in found.values()) == [0, 1, 2]
    assert all(sorted(each.replica_nodes) == [0, 1, 2] for each in found.values())


def test_b2_8_every_broker_says_the_same_of_the_cluster(cluster: ProcessCluster) -> None:
    create(cluster, "b2-8", [[0, 1, 2], [1, 2, 0]])
    answers = [metadata(cluster, each, "b2-8") for each in cluster.ids]
    assert answers[0] == answers[1] == answers[2]
    assert [each.node_id for each in answers[0].brokers] == [0, 1, 2]
    assert answers[0].controller_id in cluster.ids
    assert answers[0].cluster_id


def test_b2_13_one_broker_is_the_controller_and_its_epoch_rises(cluster: ProcessCluster, znodes: ZnodeView) -> None:
    controller, epoch = znodes.controller(), znodes.controller_epoch()
    assert {metadata(cluster, each).controller_id for each in cluster.ids} == {controller}
    znodes.unseat_controller()
    wait_until(lambda: znodes.controller_epoch() == epoch + 1, "another election")
    wait_until(
        lambda: {metadata(cluster, each).controller_id for each in cluster.ids} == {znodes.controller()},
        "everybody knows the new controller",
    )
    # c003-2: what a former controller says is refused.
    late = UpdateMetadataRequest(controller_id=controller, controller_epoch=epoch, broker_epoch=-1)
    assert ask(cluster, 0, late).error_code == ErrorCode.STALE_CONTROLLER_EPOCH


def test_b2_14_another_controller_takes_over_and_finds_leaders(cluster: ProcessCluster, znodes: ZnodeView) -> None:
    victim = znodes.controller()
    others = [each for each in cluster.ids if each != victim]
    create(cluster, "b2-14", [[victim, *others]])
    cluster.kill(victim)
    wait_for_leader(cluster, "b2-14", others[0])
    assert znodes.controller() in others
    assert {metadata(cluster, each).controller_id for each in others} == {znodes.controller()}


def test_b2_15_a_new_partition_is_led_by_its_first_replica_and_all_are_in_sync(
    cluster: ProcessCluster, znodes: ZnodeView
) -> None:
    create(cluster, "b2-15", [[2, 0, 1]])
    assert znodes.read("/brokers/topics/b2-15/partitions/0/state") == {
        "controller_epoch": znodes.controller_epoch(),
        "leader": 2,
        "version": 1,
        "leader_epoch": 0,
        "isr": [2, 0, 1],
    }


def test_b1_54_a_killed_broker_leaves_with_its_session_and_b2_16_others_lead(
    cluster: ProcessCluster, znodes: ZnodeView
) -> None:
    create(cluster, "b2-16", [[1, 2, 0]])
    assert znodes.owner("/brokers/ids/1")
    registration = znodes.read("/brokers/ids/1")
    assert registration["version"] in (4, 5)
    assert {"listener_security_protocol_map", "endpoints", "host", "port", "timestamp"} <= registration.keys()
    cluster.kill(1)
    wait_until(lambda: znodes.brokers() == [0, 2], "its registration is gone")
    wait_for_leader(cluster, "b2-16", 2)
    wait_for_isr(cluster, "b2-16", {0, 2})
    assert partition(cluster, 0, "b2-16").offline_replicas == [1]


def test_c003_4_the_order_of_the_assignment_decides_who_leads(cluster: ProcessCluster) -> None:
    create(cluster, "c003-4", [[2, 0, 1]])
    for away in (0, 1):  # they come back in the order in which the ISR shall have them: 2, 1, 0
        cluster.stop(away)
    cluster.start(1)
    wait_for_isr(cluster, "c003-4", {1, 2})
    cluster.start(0)
    wait_for_isr(cluster, "c003-4", {0, 1, 2})
    assert partition(cluster, 2, "c003-4").isr_nodes == [2, 1, 0]
    cluster.kill(2)
    wait_for_leader(cluster, "c003-4", 0)


@pytest.mark.parametrize("unclean", [False, True])
def test_c003_5_without_a_replica_in_sync_there_is_a_leader_only_if_an_unclean_one_may_be(
    cluster: ProcessCluster, unclean: bool
) -> None:
    topic = f"c003-5-{unclean}".lower()
    create(cluster, topic, [[1, 2]], unclean_leader_election_enable=str(unclean).lower())
    cluster.kill(2)
    wait_for_isr(cluster, topic, {1})
    cluster.kill(1)
    wait_until(lambda: partition(cluster, 0, topic).leader_id == -1, "nobody leads")
    cluster.start(2)
    if unclean:
        wait_for_leader(cluster, topic, 2)
        assert partition(cluster, 0, topic).isr_nodes == [2]
    else:
        wait_until(lambda: len(metadata(cluster, 0).brokers) == 2, "the follower is back")
        assert partition(cluster, 0, topic).leader_id == -1
        assert partition(cluster, 0, topic).isr_nodes == [1]


def test_c003_6_two_brokers_may_die_one_after_the_other(cluster: ProcessCluster) -> None:
    create(cluster, "c003-6", [[0, 1, 2]])
    send(cluster, "c003-6", b"one")
    cluster.kill(0)
    wait_for_leader(cluster, "c003-6", 1)
    send(cluster, "c003-6", b"two")
    wait_for_isr(cluster, "c003-6", {1, 2})
    cluster.kill(1)
    wait_for_leader(cluster, "c003-6", 2)
    send(cluster, "c003-6", b"three")
    assert read_values(cluster.address(2), "c003-6", 3) == [b"one", b"two", b"three"]


def test_b2_17_b1_56_and_c001_6_a_paused_follower_leaves_the_isr_in_time_and_comes_back(
    cluster: ProcessCluster, znodes: ZnodeView
) -> None:
    slow = next(each for each in (1, 2) if each != znodes.controller())  # the leader has to reach the controller
    others = {0, 1, 2} - {slow}
    create(cluster, "b2-17", [[0, 1, 2]])
    send(cluster, "b2-17", b"one")
    cluster.isolate(slow)  # its session lives: only copying stops
    cut_at = time.monotonic()
    send(cluster, "b2-17", b"two", acks="1")
    wait_for_isr(cluster, "b2-17", others, eyes=others)
    assert time.monotonic() - cut_at < 1.5 * LAG_MS_MAX / 1000 + SLACK_S
    state = znodes.read("/brokers/topics/b2-17/partitions/0/state")
    assert set(state["isr"]) == others
    cluster.network.heal()
    wait_for_isr(cluster, "b2-17", {0, 1, 2})


def test_b2_17_leaders_of_old_say_by_a_znode_that_they_changed_the_isr(
    cluster: ProcessCluster, znodes: ZnodeView
) -> None:
    create(cluster, "b2-17-znode", [[0, 1, 2]])
    state = znodes.read("/brokers/topics/b2-17-znode/partitions/0/state")
    znodes.write("/brokers/topics/b2-17-znode/partitions/0/state", {**state, "isr": [0, 2]})
    changed = {"version": 1, "partitions": [{"topic": "b2-17-znode", "partition": 0}]}
    znodes.create_sequential("/isr_change_notification/isr_change_", changed)
    wait_for_isr(cluster, "b2-17-znode", {0, 2})
    wait_until(lambda: not znodes.names("/isr_change_notification"), "the notification is consumed")


def test_b2_18_a_broker_that_is_told_to_stop_hands_over_first(cluster: ProcessCluster) -> None:
    create(cluster, "b2-18", [[1, 2, 0]])
    controller = metadata(cluster, 0).controller_id
    assert cluster.stop(1) == 0
    wait_for_leader(cluster, "b2-18", 2)
    wait_for_isr(cluster, "b2-18", {0, 2})
    assert "broker 1 shuts down: it leads" in cluster.log_of(controller)


def test_b2_19_a_topic_is_deleted_when_its_last_broker_is_back(cluster: ProcessCluster, znodes: ZnodeView) -> None:
    create(cluster, "b2-19", [[0, 1, 2]])
    cluster.kill(1)
    wait_until(lambda: znodes.brokers() == [0, 2], "its registration is gone")
    wait_until(lambda: all(metadata(cluster, each).controller_id in (0, 2) for each in (0, 2)), "there is a controller")
    delete_topic(cluster, "b2-19")
    assert znodes.names("/admin/delete_topics") == ["b2-19"]
    assert "b2-19" in znodes.names("/brokers/topics")
    cluster.start(1)
    wait_until(lambda: "b2-19" not in znodes.names("/brokers/topics"), "the topic is gone")
    assert znodes.names("/admin/delete_topics") == []
    wait_until(lambda: not any((cluster.data_of(each) / "b2-19-0").exists() for each in cluster.ids), "no log is left")


def test_b2_57_too_few_in_sync_refuse_acks_all_but_not_acks_1(cluster: ProcessCluster) -> None:
    create(cluster, "b2-57", [[0, 1, 2]], min_insync_replicas="2")
    cluster.stop(1)
    cluster.stop(2)
    with pytest.raises(KafkaException) as refused:
        send(cluster, "b2-57", b"refused", timeout_ms=2_000)
    assert refused.value.args[0].name() in ("NOT_ENOUGH_REPLICAS", "_MSG_TIMED_OUT")
    send(cluster, "b2-57", b"accepted", acks="1")
    cluster.start(1, 2)
    wait_until(lambda: is_whole(cluster, "b2-57"), "all are in sync")
    assert read_values(cluster.address(0), "b2-57", 1) == [b"accepted"]


def test_c004_7_leaders_know_where_epochs_end(cluster: ProcessCluster) -> None:
    create(cluster, "c004-7", [[0, 1, 2]])
    send(cluster, "c004-7", *(b"%d" % number for number in range(120)))
    cluster.stop(0)
    wait_for_leader(cluster, "c004-7", 1)
    send(cluster, "c004-7", b"more")
    found = []
    for epoch in (0, 1, 9):
        asked = OffsetForLeaderPartition(partition=0, leader_epoch=epoch)
        topics = [OffsetForLeaderTopic(topic="c004-7", partitions=[asked])]
        answer = ask(cluster, 1, OffsetForLeaderEpochRequest(replica_id=-1, topics=topics), 4)
        (end,) = answer.topics[0].partitions
        found.append((end.error_code, end.leader_epoch, end.end_offset))
    assert found == [(0, 0, 120), (0, 1, 121), (0, -1, -1)]


def test_b1_36_brokers_killed_one_after_the_other_lose_and_reorder_nothing(cluster: ProcessCluster) -> None:
    create(cluster, "b1-36", [[0, 1, 2], [1, 2, 0], [2, 0, 1]], min_insync_replicas="2")
    history = History()
    producer = PlainProducer("producer", cluster.bootstrap_servers, "b1-36", 3, history, seed=1)
    producer.start()
    for broker_id in cluster.ids:
        cluster.kill(broker_id)
        cluster.start(broker_id)
        wait_until(lambda: is_whole(cluster, "b1-36"), "all are in sync")
    producer.stop()
    producer.join()
    read_everything(cluster.bootstrap_servers, "b1-36", 3, history, 60)
    assert history.sends
    assert {kind for kind, cases in check(history).items() if cases} == {"unseen"}  # there is no group
