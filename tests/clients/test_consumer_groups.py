"""Members of groups against a broker: rebalances and their listeners, commits, static members, patterns, slow polls."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.clients.consumer.consumer import Consumer as AioConsumer
from moldau.clients.consumer.errors import CommitFailed
from moldau.clients.consumer.listener import ConsumerInterceptor, RebalanceListener
from moldau.clients.consumer.plain import Consumer
from moldau.clients.records import OffsetAndMetadata, TopicPartition
from moldau.testing.local_cluster import LocalCluster
from tests.clients.records_to_consume import new_group, poll_until, produce, take

Make = Callable[..., Consumer]


class Diary(RebalanceListener):
    """Writes down what it hears."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, list[int]]] = []

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self.entries.append(("revoked", [each.partition for each in partitions]))

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        self.entries.append(("assigned", [each.partition for each in partitions]))

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        self.entries.append(("lost", [each.partition for each in partitions]))


@pytest.fixture
def make(moldau_bootstrap_servers: str) -> Iterator[Make]:
    """Consumers with short intervals, closed after the test."""
    with ExitStack() as stack:

        def make(group: str, **keywords: object) -> Consumer:
            settings = {
                "bootstrap.servers": moldau_bootstrap_servers,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "heartbeat.interval.ms": 50,
                "session.timeout.ms": 6_000,
                "enable.auto.commit": False,
            }
            return stack.enter_context(Consumer(settings, **keywords))

        yield make


@pytest.fixture
def topic(moldau_cluster: LocalCluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A topic of four partitions."""
    name = request.node.name
    moldau_cluster.create_topic(name, 4)
    yield name
    moldau_cluster.delete_topic(name)


def _partitions(*consumers: Consumer) -> list[list[int]]:
    return [sorted(each.partition for each in consumer.assignment()) for consumer in consumers]


def test_an_eager_group_gives_up_everything_and_divides_it_anew(make: Make, topic: str) -> None:
    group, diary = new_group(), Diary()
    first = make(group)
    first.subscribe([topic], diary)
    poll_until([first], lambda: _partitions(first) == [[0, 1, 2, 3]])
    second = make(group)
    second.subscribe([topic])
    poll_until([first, second], lambda: sorted(map(len, _partitions(first, second))) == [2, 2])
    assert diary.entries[:2] == [("assigned", [0, 1, 2, 3]), ("revoked", [0, 1, 2, 3])]
    assert diary.entries[2][0] == "assigned"
    second.close()
    poll_until([first], lambda: _partitions(first) == [[0, 1, 2, 3]])
    first.unsubscribe()
    assert diary.entries[-1] == ("revoked", [0, 1, 2, 3])
    assert first.assignment() == set()


def test_a_cooperative_group_gives_up_only_what_moves(make: Make, topic: str) -> None:
    group, diary, other = new_group(), Diary(), Diary()
    first = make(group, partition_assignment_strategy=["cooperative-sticky"])
    first.subscribe([topic], diary)
    poll_until([first], lambda: _partitions(first) == [[0, 1, 2, 3]])
    second = make(group, partition_assignment_strategy=["cooperative-sticky"])
    second.subscribe([topic], other)
    poll_until([first, second], lambda: list(map(len, _partitions(first, second))) == [2, 2])
    ((kept,), (moved,)) = ([sorted(first.assignment())], [sorted(second.assignment())])
    assert diary.entries[0] == ("assigned", [0, 1, 2, 3])
    assert ("revoked", [each.partition for each in moved]) in diary.entries
    assert [entry for entry in diary.entries if entry[0] == "revoked"] == [
        ("revoked", [each.partition for each in moved])
    ]
    assert ("assigned", [each.partition for each in moved]) in other.entries
    assert len(kept) == 2


def test_a_listener_commits_and_seeks_inside_poll(make: Make, moldau_cluster: LocalCluster, topic: str) -> None:
    produce(moldau_cluster, topic, [b"v"] * 10)
    store = {TopicPartition(topic, 0): 7}
    consumer = make(new_group())

    class External(RebalanceListener):
        def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
            for partition in partitions:
                consumer.seek(partition, store.get(partition, 0))

        def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
            consumer.commit()
            for partition in partitions:
                store[partition] = consumer.position(partition)

    consumer.subscribe([topic], External())
    assert [record.offset for record in take(consumer, 3)] == [7, 8, 9]
    consumer.unsubscribe()
    assert store[TopicPartition(topic, 0)] == 10
    assert consumer.committed([(topic, 0)])[TopicPartition(topic, 0)] == OffsetAndMetadata(10, "", 0)


def test_what_a_listener_raises_comes_out_of_poll_and_the_rebalance_is_through(make: Make, topic: str) -> None:
    class Failing(RebalanceListener):
        def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
            raise RuntimeError(f"not these {len(partitions)}")

    consumer = make(new_group())
    consumer.subscribe([topic], Failing())
    with pytest.raises(RuntimeError, match="not these 4"):
        poll_until([consumer], lambda: False)
    assert _partitions(consumer) == [[0, 1, 2, 3]]
    assert consumer.poll(0.1) == []


def test_offsets_are_committed_now_and_then_and_at_the_end(
    make: Make, moldau_cluster: LocalCluster, topic: str
) -> None:
    group = new_group()
    produce(moldau_cluster, topic, [b"v"] * 5)
    partition = TopicPartition(topic, 0)

    class Seen(ConsumerInterceptor):
        commits: list[int]

        def on_commit(self, offsets: object) -> None:
            assert isinstance(offsets, dict)
            self.commits.append(offsets[partition].offset)

    seen = Seen()
    seen.commits = []
    consumer = make(group, enable_auto_commit=True, auto_commit_interval_ms=100, interceptor_classes=[seen])
    consumer.subscribe([topic])
    take(consumer, 5)
    poll_until([consumer], lambda: 5 in seen.commits)
    produce(moldau_cluster, topic, [b"v"])
    take(consumer, 1)
    consumer.close()
    reader = make(group)
    assert reader.committed([partition])[partition] == OffsetAndMetadata(6, "", 0)


def test_a_pattern_finds_topics_that_come_later(make: Make, moldau_cluster: LocalCluster, topic: str) -> None:
    consumer = make(new_group(), metadata_max_age_ms=200)
    consumer.subscribe(re.compile(f"^{topic}.*"))
    poll_until([consumer], lambda: len(consumer.assignment()) == 4)
    moldau_cluster.create_topic(f"{topic}-more", 2)
    try:
        poll_until([consumer], lambda: len(consumer.assignment()) == 6)
        assert consumer.subscription() == {topic, f"{topic}-more"}
    finally:
        moldau_cluster.delete_topic(f"{topic}-more")
    poll_until([consumer], lambda: len(consumer.assignment()) == 4)


def test_who_polls_too_late_is_out_and_loses_its_partitions(
    make: Make, moldau_cluster: LocalCluster, topic: str
) -> None:
    produce(moldau_cluster, topic, [b"v"])
    diary = Diary()
    consumer = make(new_group(), max_poll_interval_ms=300)
    consumer.subscribe([topic], diary)
    take(consumer, 1)
    time.sleep(0.8)
    with pytest.raises(CommitFailed, match=r"max\.poll\.interval\.ms"):
        consumer.commit()
    take(consumer, 1)  # it was not committed
    assert diary.entries == [("assigned", [0, 1, 2, 3]), ("lost", [0, 1, 2, 3]), ("assigned", [0, 1, 2, 3])]


def test_heartbeats_go_on_while_records_are_processed(make: Make, topic: str) -> None:
    consumer = make(new_group())
    consumer.subscribe([topic])
    poll_until([consumer], lambda: len(consumer.assignment()) == 4)
    before = consumer.metrics()["heartbeat-total"]
    time.sleep(0.5)
    assert consumer.metrics()["heartbeat-total"] >= before + 3


def test_a_static_member_comes_back_without_a_rebalance_and_the_one_it_replaces_gives_up(
    make: Make, topic: str
) -> None:
    group, diary = new_group(), Diary()
    first = make(group, group_instance_id="i")
    first.subscribe([topic])
    poll_until([first], lambda: len(first.assignment()) == 4)
    generation = first.group_metadata().generation_id
    second = make(group, group_instance_id="i")
    second.subscribe([topic], diary)
    poll_until([second], lambda: len(second.assignment()) == 4)
    assert second.group_metadata().generation_id == generation
    with pytest.raises(ApiError) as fenced:
        poll_until([first], lambda: False)
    assert fenced.value.code is ErrorCode.FENCED_INSTANCE_ID
    assert "close this consumer" in str(fenced.value)


def test_members_with_nothing_in_common_are_refused(make: Make, topic: str) -> None:
    group = new_group()
    first = make(group, partition_assignment_strategy=["range"])
    first.subscribe([topic])
    poll_until([first], lambda: len(first.assignment()) == 4)
    second = make(group, partition_assignment_strategy=["sticky"])
    second.subscribe([topic])
    with pytest.raises(ApiError) as refused:
        poll_until([second], lambda: False)
    assert refused.value.code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


async def _listen(servers: str, topic: str) -> list[str]:
    heard: list[str] = []
    settings = {"bootstrap.servers": servers, "group.id": new_group(), "auto.offset.reset": "earliest"}
    async with AioConsumer(settings, enable_auto_commit=False) as consumer:

        class Listener(RebalanceListener):
            async def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
                await consumer.commit()
                heard.append(f"revoked {len(partitions)}")

            async def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
                heard.append(f"assigned {len(partitions)}")

        consumer.subscribe([topic], Listener())
        while not await consumer.poll(1):
            pass
    return heard


def test_listeners_may_be_coroutines(moldau_cluster: LocalCluster, moldau_bootstrap_servers: str, topic: str) -> None:
    import asyncio

    produce(moldau_cluster, topic, [b"v"])
    assert asyncio.run(_listen(moldau_bootstrap_servers, topic)) == ["assigned 4", "revoked 4"]
