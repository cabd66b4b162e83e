"""What a broker knows of its cluster, after what its controller told it."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.cluster.metadata_answers import Era, View
from moldau.cluster.metadata_cache import LEADER_DURING_DELETE, MetadataCache, PartitionMetadata
from moldau.cluster.znodes.brokers import Endpoint
from moldau.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

ID_A, ID_B = b"A" * 16, b"B" * 16


def broker(broker_id: int, *listeners: str, rack: str | None = None) -> UpdateMetadataBroker:
    endpoints = [
        UpdateMetadataEndpoint(host=f"host{broker_id}", port=9000 + place, listener=listener)
        for place, listener in enumerate(listeners or ("PLAINTEXT",))
    ]
    return UpdateMetadataBroker(id=broker_id, rack=rack, endpoints=endpoints)


def partition(index: int, leader: int, *replicas: int, offline: tuple[int, ...] = ()) -> UpdateMetadataPartitionState:
    return UpdateMetadataPartitionState(
        partition_index=index,
        controller_epoch=3,
        leader=leader,
        leader_epoch=5,
        isr=list(replicas),
        zk_version=7,
        replicas=list(replicas),
        offline_replicas=list(offline),
    )


def told(
    *brokers: UpdateMetadataBroker,
    topics: dict[str, list[UpdateMetadataPartitionState]] | None = None,
    ids: dict[str, bytes] | None = None,
) -> UpdateMetadataRequest:
    states = [
        UpdateMetadataTopicState(topic_name=name, topic_id=(ids or {}).get(name, bytes(16)), partition_states=states)
        for name, states in (topics or {}).items()
    ]
    return UpdateMetadataRequest(controller_id=1, live_brokers=list(brokers), topic_states=states)


def view(version: int = 12, listener: str = "PLAINTEXT") -> View:
    return View(listener, Era.of(version))


def test_an_update_adds_to_what_is_known_and_replaces_the_brokers() -> None:
    cache = MetadataCache()
    cache.apply(told(broker(1), broker(2), topics={"a": [partition(0, 1, 1, 2)]}, ids={"a": ID_A}), 8)
    assert (
        cache.apply(told(broker(2, rack="r"), topics={"a": [partition(1, 2, 2)], "b": [partition(0, 2, 2)]}), 8) == []
    )
    assert cache.controller_id == 1
    assert {one.broker_id: one.rack for one in cache.brokers.values()} == {2: "r"}
    assert {name: list(known) for name, known in cache.topics.items()} == {"a": [0, 1], "b": [0]}
    assert cache.partition("a", 0) == PartitionMetadata(1, 5, (1, 2), 7, (1, 2), (), 3)
    assert cache.partition("a", 2) is None
    assert cache.partition("c", 0) is None
    assert cache.endpoint(2, "PLAINTEXT") == Endpoint("PLAINTEXT", "host2", 9000, "PLAINTEXT")
    assert cache.endpoint(1, "PLAINTEXT") is None
    assert cache.endpoint(2, "INTERNAL") is None


def test_partitions_are_in_the_order_of_their_numbers_however_they_came() -> None:
    cache = MetadataCache()
    cache.apply(told(broker(1), topics={"a": [partition(index, 1, 1) for index in (2, 0, 3, 1)]}), 8)
    assert list(cache.topics["a"]) == [0, 1, 2, 3]


def test_a_partition_that_is_being_deleted_leaves_and_the_topic_with_its_last() -> None:
    cache = MetadataCache()
    cache.apply(told(broker(1), topics={"a": [partition(0, 1, 1), partition(1, 1, 1)]}, ids={"a": ID_A}), 8)
    gone = cache.apply(told(broker(1), topics={"a": [partition(1, LEADER_DURING_DELETE)]}, ids={"a": ID_A}), 8)
    assert gone == [("a", 1)]
    assert (list(cache.topics["a"]), cache.topic_ids, cache.topic_names) == ([0], {"a": ID_A}, {ID_A: "a"})
    gone = cache.apply(told(broker(1), topics={"a": [partition(0, LEADER_DURING_DELETE)]}, ids={"a": ID_A}), 8)
    assert gone == [("a", 0)]
    assert (cache.topics, cache.topic_ids, cache.topic_names) == ({}, {}, {})


def test_a_topic_that_was_created_anew_has_its_new_id_only() -> None:
    cache = MetadataCache()
    cache.apply(told(broker(1), topics={"a": [partition(0, 1, 1)]}, ids={"a": ID_A}), 8)
    cache.apply(told(broker(1), topics={"a": [partition(0, 1, 1)]}, ids={"a": ID_B}), 8)
    assert (cache.topic_ids, cache.topic_names) == ({"a": ID_B}, {ID_B: "a"})
    cache.apply(told(broker(1), topics={"a": [partition(0, 1, 1)]}), 8)
    assert (cache.topic_ids, cache.topic_names) == ({}, {})


def test_listeners_hear_which_topics_changed() -> None:
    cache = MetadataCache()
    heard: list[set[str]] = []

    def hear(topics: Collection[str]) -> None:
        heard.append(set(topics))

    cache.add_listener(hear)
    cache.apply(told(broker(1)), 8)
    cache.apply(told(broker(1), topics={"a": [partition(0, 1, 1)], "b": [partition(0, 1, 1)]}), 8)
    cache.apply(told(broker(1), topics={"a": [partition(0, LEADER_DURING_DELETE)]}), 8)
    assert heard == [set(), {"a", "b"}, {"a"}]


def test_old_versions_of_the_update_are_understood() -> None:
    cache = MetadataCache()
    state = partition(0, 1, 1)
    state.topic_name = "a"
    old = UpdateMetadataBroker(id=1, v0_host="old", v0_port=9)
    cache.apply(UpdateMetadataRequest(ungrouped_partition_states=[state], live_brokers=[old]), 0)
    assert cache.endpoint(1, "PLAINTEXT") == Endpoint("PLAINTEXT", "old", 9, "PLAINTEXT")
    assert list(cache.topics) == ["a"]
    unnamed = UpdateMetadataEndpoint(host="tls", port=10, security_protocol=1)
    cache.apply(UpdateMetadataRequest(live_brokers=[UpdateMetadataBroker(id=1, endpoints=[unnamed])]), 1)
    assert cache.endpoint(1, "SSL") == Endpoint("SSL", "tls", 10, "SSL")


def test_an_unknown_security_protocol_is_refused_and_changes_nothing() -> None:
    cache = MetadataCache()
    cache.apply(told(broker(1)), 8)
    odd = UpdateMetadataBroker(id=2, endpoints=[UpdateMetadataEndpoint(listener="X", security_protocol=9)])
    with pytest.raises(ApiError) as refused:
        cache.apply(UpdateMetadataRequest(controller_id=5, live_brokers=[odd]), 8)
    assert refused.value.code is ErrorCode.INVALID_REQUEST
    assert (list(cache.brokers), cache.controller_id) == ([1], 1)


def test_brokers_with_different_listeners_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    MetadataCache().apply(told(broker(1, "A"), broker(2, "A", "B")), 8)
    assert "listeners are not the same on all brokers" in caplog.text


def test_answers_name_the_leader_and_the_brokers_of_a_listener() -> None:
    cache = MetadataCache()
    cache.apply(told(broker(1, "A", "B"), broker(2, "A"), topics={"a": [partition(0, 2, 2, 1, offline=(1,))]}), 8)
    assert [(one.node_id, one.host, one.port) for one in cache.answers.brokers("B")] == [(1, "host1", 9001)]
    assert [one.node_id for one in cache.answers.brokers("A")] == [1, 2]
    topic = cache.answers.topic("a", view(listener="A"))
    assert topic is not None
    (answer,) = topic.partitions
    assert (answer.error_code, answer.leader_id, answer.leader_epoch) == (0, 2, 5)
    assert (answer.replica_nodes, answer.isr_nodes, answer.offline_replicas) == ([2, 1], [2, 1], [1])
    assert cache.answers.topic("b", view(listener="A")) is None


@pytest.mark.parametrize(
    ("version", "error", "replicas"),
    [
        (0, ErrorCode.LEADER_NOT_AVAILABLE, [1]),
        (5, ErrorCode.LEADER_NOT_AVAILABLE, [2, 1]),
        (6, ErrorCode.LISTENER_NOT_FOUND, [2, 1]),
    ],
)
def test_a_leader_without_the_clients_listener(version: int, error: ErrorCode, replicas: list[int]) -> None:
    cache = MetadataCache()
    cache.apply(told(broker(1, "A", "B"), broker(2, "A"), topics={"a": [partition(0, 2, 2, 1)]}), 8)
    topic = cache.answers.topic("a", view(version, "B"))
    assert topic is not None
    assert [(one.error_code, one.leader_id, one.replica_nodes) for one in topic.partitions] == [(error, -1, replicas)]


def test_a_dead_leader_is_not_available_and_version_0_misses_dead_replicas() -> None:
    cache = MetadataCache()
    cache.apply(told(broker(1), topics={"a": [partition(0, 2, 2, 1), partition(1, 1, 1, 2)]}), 8)
    new, old = cache.answers.topic("a", view(12)), cache.answers.topic("a", view(0))
    assert new is not None
    assert old is not None
    none, missing = ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE
    assert [(one.error_code, one.leader_id) for one in new.partitions] == [(missing, -1), (none, 1)]
    assert [(one.error_code, one.replica_nodes) for one in old.partitions] == [
        (missing, [1]),
        (ErrorCode.REPLICA_NOT_AVAILABLE, [1]),
    ]


def test_answers_are_made_once_and_anew_after_a_change() -> None:
    cache = MetadataCache()
    cache.apply(told(broker(1), topics={"a": [partition(0, 1, 1)], "b": [partition(0, 1, 1)]}), 8)
    a, b = cache.answers.all_topics(view())
    assert cache.answers.topic("a", view()) is a
    cache.apply(told(broker(1), topics={"a": [partition(0, 1, 1)]}), 8)
    assert cache.answers.topic("a", view()) is not a
    assert cache.answers.topic("b", view()) is b
    assert cache.answers.all_topics(view()) == [a, b]
    cache.apply(told(broker(1), broker(2)), 8)
    assert cache.answers.topic("b", view()) is not b
    assert [one.node_id for one in cache.answers.brokers("PLAINTEXT")] == [1, 2]
    cache.apply(told(broker(1), broker(2), topics={"a": [partition(0, LEADER_DURING_DELETE)]}), 8)
    assert [one.name for one in cache.answers.all_topics(view())] == ["b"]
    assert cache.answers.topic("a", view()) is None
