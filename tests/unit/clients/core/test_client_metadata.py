"""What a client knows never goes back to an older leader."""

from __future__ import annotations

from moldau.base.error_codes import ErrorCode
from moldau.clients.network.metadata import ClusterMetadata
from moldau.clients.records import TopicPartition
from moldau.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

ID, OTHER_ID = b"a" * 16, b"b" * 16
ORDERS = TopicPartition("orders", 0)


def answer(leader: int, epoch: int, topic_id: bytes = ID, brokers: tuple[int, ...] = (1, 2)) -> MetadataResponse:
    partition = MetadataResponsePartition(partition_index=0, leader_id=leader, leader_epoch=epoch)
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=each, host=f"host-{each}", port=9092) for each in brokers],
        topics=[MetadataResponseTopic(name="orders", topic_id=topic_id, partitions=[partition])],
    )


def leader_after(*answers: MetadataResponse) -> int | None:
    metadata = ClusterMetadata()
    for each in answers:
        metadata = metadata.with_answer(each)
    known = metadata.leader(ORDERS)
    return None if known is None else known.leader


def test_a_newer_leader_replaces_an_older_one_and_not_the_other_way_round() -> None:
    assert leader_after(answer(1, 5), answer(2, 6)) == 2
    assert leader_after(answer(2, 6), answer(1, 5)) == 2


def test_a_topic_made_anew_begins_with_any_epoch() -> None:
    assert leader_after(answer(2, 6), answer(1, 0, OTHER_ID)) == 1


def test_without_epochs_the_last_answer_counts() -> None:
    assert leader_after(answer(2, -1), answer(1, -1)) == 1


def test_a_leader_whose_address_is_unknown_is_none() -> None:
    assert leader_after(answer(3, 1)) is None
    assert ClusterMetadata().with_answer(answer(3, 1)).leaderless


def test_a_refusal_names_the_new_leader_only_with_a_newer_epoch() -> None:
    metadata = ClusterMetadata().with_answer(answer(1, 5))
    assert metadata.with_leader(ORDERS, 2, 5) is metadata
    moved = metadata.with_leader(ORDERS, 2, 6).leader(ORDERS)
    assert moved is not None
    assert (moved.leader, moved.leader_epoch) == (2, 6)


def test_topics_that_were_not_asked_for_are_kept_only_if_wanted() -> None:
    metadata = ClusterMetadata().with_answer(answer(1, 5))
    nothing = MetadataResponse(brokers=answer(1, 5).brokers)
    assert "orders" in metadata.with_answer(nothing, kept=["orders"]).topics
    assert "orders" not in metadata.with_answer(nothing).topics


def test_an_error_of_a_newer_kafka_is_an_unknown_one() -> None:
    strange = MetadataResponse(topics=[MetadataResponseTopic(name="orders", error_code=9999)])
    assert ClusterMetadata().with_answer(strange).topics["orders"].error is ErrorCode.UNKNOWN_SERVER_ERROR
