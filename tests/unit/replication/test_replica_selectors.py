"""Which replica a consumer is sent to (KIP-392)."""

from __future__ import annotations

import pytest

from moldau.base.config.broker_config import load_broker_config
from moldau.base.errors import ConfigError
from moldau.replication.replica_selectors import (
    LeaderSelector,
    RackAwareReplicaSelector,
    ReplicaView,
    selector_of,
)

LEADER = ReplicaView(0, "a", 100, 0.0)
NEAR = ReplicaView(1, "b", 90, 50.0)
AHEAD = ReplicaView(2, "b", 95, 80.0)
FRESHER = ReplicaView(3, "b", 95, 20.0)


@pytest.mark.parametrize(
    ("rack", "replicas", "chosen"),
    [
        ("b", [LEADER, NEAR], NEAR),
        ("b", [LEADER, NEAR, AHEAD], AHEAD),
        ("b", [LEADER, NEAR, AHEAD, FRESHER], FRESHER),
        ("a", [LEADER, NEAR], LEADER),
        ("c", [LEADER, NEAR], LEADER),
        ("", [LEADER, NEAR], LEADER),
    ],
    ids=["in the rack", "furthest ahead", "caught up last", "the leader is near", "nobody is near", "no rack"],
)
def test_rack_awareness(rack: str, replicas: list[ReplicaView], chosen: ReplicaView) -> None:
    assert RackAwareReplicaSelector().select(rack, LEADER, replicas) is chosen


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("org.apache.kafka.common.replica.RackAwareReplicaSelector", RackAwareReplicaSelector),
        ("org.apache.kafka.common.replica.LeaderSelector", LeaderSelector),
        ("moldau.replication.replica_selectors.LeaderSelector", LeaderSelector),
    ],
)
def test_classes_go_by_javas_names_and_by_ours(name: str, kind: type[object]) -> None:
    assert isinstance(selector_of(load_broker_config({"replica.selector.class": name})), kind)


def test_there_is_no_selector_unless_one_is_asked_for() -> None:
    assert selector_of(load_broker_config({})) is None


def test_an_unknown_class_is_refused() -> None:
    with pytest.raises(ConfigError, match="RackAwareReplicaSelector"):
        selector_of(load_broker_config({"replica.selector.class": "org.example.Mine"}))
