"""Topics through a whole broker: what was deleted can be made again at once, and is another topic."""

from __future__ import annotations

from tests.broker.requests_to_broker import Broker, records


def test_a_deleted_topic_can_be_created_again_at_once(broker: Broker) -> None:
    ids = set()
    for _ in range(5):
        broker.cluster.create_topic("again")
        assert broker.produce("again", records(b"x")).base_offset == 0
        ids.add(broker.topic_id("again"))
        broker.cluster.delete_topic("again")
    assert len(ids) == 5


def test_settings_of_a_deleted_topic_are_not_inherited_by_its_successor(broker: Broker) -> None:
    broker.cluster.create_topic("tiny", config={"max.message.bytes": "100"})
    broker.cluster.delete_topic("tiny")
    broker.cluster.create_topic("tiny")
    assert broker.produce("tiny", records(b"x" * 1000)).error_code == 0
