"""The checker on a cluster that may lose records, and does: so that zero anomalies elsewhere mean something."""

from __future__ import annotations

import pytest

from moldau.testing.local_cluster import LocalCluster
from tests.cluster.checker import check
from tests.cluster.history import History
from tests.cluster.replicated_topic import ReplicatedTopic, eventually
from tests.cluster.workload import PlainProducer, read_everything

TOPIC = "orders"


@pytest.mark.slow
def test_what_only_an_unclean_leader_could_lose_is_reported_as_lost() -> None:
    history = History()
    with LocalCluster(brokers=2) as cluster:
        settings = {"unclean.leader.election.enable": "true"}
        cluster.create_topic(TOPIC, config=settings, replication_factor=2)
        topic = ReplicatedTopic(cluster, TOPIC)
        leader, follower = topic.leader, topic.followers[0]
        cluster.stop_broker(follower)
        producer = PlainProducer("producer", cluster.bootstrap_servers, TOPIC, 1, history, seed=1)
        producer.start()
        eventually(lambda: len(history.sends) > 20)
        producer.stop()
        producer.join()
        cluster.kill_broker(leader)
        cluster.start_broker(follower)
        eventually(lambda: topic.leader == follower)
        read_everything(cluster.bootstrap_servers, TOPIC, 1, history, 30)
    anomalies = check(history)
    assert len(anomalies["lost"]) == len(history.sends) > 20
    assert {kind for kind, cases in anomalies.items() if cases} == {"lost"}
