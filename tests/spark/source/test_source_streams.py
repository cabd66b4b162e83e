"""A stream's place: where it begins, what a batch takes, what is found while it runs, and what tools see of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

from moldau import Admin, Producer
from moldau.clients.admin import NewPartitions
from moldau.pipeline.source.stream_reading import UNDECIDED
from moldau.testing.local_cluster import LocalCluster
from tests.spark.source.reading import Rows, Stream, rows_of

pytestmark = pytest.mark.slow

Send = Callable[..., None]


@pytest.fixture
def send(cluster: LocalCluster) -> Iterator[Send]:
    """Sends some numbers to a partition, and waits until they are there."""
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:

        def sent(topic: str, *numbers: int, partition: int = 0) -> None:
            for number in numbers:
                producer.send(topic, b"%d" % number, partition=partition)
            producer.flush()

        yield sent


@pytest.fixture
def admin(cluster: LocalCluster) -> Iterator[Admin]:
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as made:
        yield made


def numbers(rows: Rows) -> list[int]:
    return [int(row["value"]) for row in rows]


def until(stream: Stream, expected: list[int], timeout_s: float = 10.0) -> None:
    """Batches until what came is what is expected."""
    came: list[int] = []
    ends_at = time.monotonic() + timeout_s
    while sorted(came) != expected and time.monotonic() < ends_at:
        came += numbers(stream.batch())
    assert sorted(came) == expected


def test_earliest_reads_all_and_then_what_comes(cluster: LocalCluster, topic: str, send: Send) -> None:
    cluster.create_topic(topic, 2)
    send(topic, 1, 2)
    send(topic, 3, partition=1)
    stream = Stream(cluster, subscribe=topic, startingOffsets="earliest")
    assert stream.place == {topic: {"0": 0, "1": 0}}
    assert numbers(stream.batch()) == [1, 2, 3]
    assert stream.place == {topic: {"0": 2, "1": 1}}
    send(topic, 4)
    assert numbers(stream.batch()) == [4]


def test_latest_is_written_down_before_anything_is_read(cluster: LocalCluster, topic: str, send: Send) -> None:
    cluster.create_topic(topic)
    send(topic, 1)
    stream = Stream(cluster, subscribe=topic)
    assert stream.place == UNDECIDED
    assert stream.batch() == []
    assert stream.place == {topic: {"0": 1}}
    send(topic, 2)
    # A query that is started again has this place in its checkpoint, and misses nothing.
    again = Stream(cluster, subscribe=topic)
    again.place = stream.place
    assert numbers(again.batch()) == [2]


def test_a_batch_that_is_run_again_has_the_same_rows(cluster: LocalCluster, topic: str, send: Send) -> None:
    cluster.create_topic(topic)
    send(topic, *range(10))
    stream = Stream(cluster, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="4")
    assert numbers(stream.batch()) == [0, 1, 2, 3]
    end = {topic: {"0": 8}}
    for _ in range(2):
        fresh = Stream(cluster, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="4")
        fresh.place = stream.place
        rows = [row for each in fresh.partitions(end) for row in rows_of(fresh.task.read(each))]
        assert numbers(rows) == [4, 5, 6, 7]


def test_an_answer_without_news_is_held_back_until_there_are_some(
    cluster: LocalCluster, topic: str, send: Send
) -> None:
    cluster.create_topic(topic, 2)
    stream = Stream(cluster, subscribe=topic, startingOffsets="earliest")
    assert stream.batch() == []
    began = time.monotonic()
    assert stream.batch() == []
    assert 0.15 < time.monotonic() - began < 2
    send(topic, 7, partition=1)
    assert numbers(stream.batch()) == [7]


def test_limits(cluster: LocalCluster, topic: str, send: Send) -> None:
    cluster.create_topic(topic, 2)
    send(topic, *range(30))
    send(topic, *range(30, 40), partition=1)
    stream = Stream(cluster, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="8")
    assert stream.reader.getDefaultReadLimit() == ReadMaxRows(8)
    assert numbers(stream.batch()) == [0, 1, 2, 3, 4, 5, 30, 31]
    assert len(stream.all()) == 32
    assert Stream(cluster, subscribe=topic).reader.getDefaultReadLimit() == ReadAllAvailable()


def test_a_batch_waits_until_it_is_large_enough(cluster: LocalCluster, topic: str, send: Send) -> None:
    cluster.create_topic(topic)
    options = {"startingOffsets": "earliest", "minOffsetsPerTrigger": "5", "maxTriggerDelay": "1500ms"}
    stream = Stream(cluster, subscribe=topic, **options)
    assert stream.reader.getDefaultReadLimit() == ReadMinRows(5)
    send(topic, 1)
    assert numbers(stream.batch()) == [1]  # the first does not wait
    send(topic, 2)
    assert stream.batch() == []
    send(topic, 3, 4, 5, 6)
    assert numbers(stream.batch()) == [2, 3, 4, 5, 6]
    send(topic, 7)
    assert stream.batch() == []
    until(stream, [7])  # when it has waited long enough


def test_available_now_ends_where_it_began(cluster: LocalCluster, topic: str, send: Send) -> None:
    cluster.create_topic(topic)
    send(topic, *range(10))
    stream = Stream(cluster, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="4")
    stream.reader.prepareForTriggerAvailableNow()  # type: ignore[attr-defined]  # of its other base class
    send(topic, 10)
    assert [numbers(stream.batch()) for _ in range(4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9], []]
    assert stream.place == {topic: {"0": 10}}
    assert stream.reader.reportLatestOffset() == {topic: {"0": 10}}


def test_partitions_and_topics_that_come_while_it_runs(
    cluster: LocalCluster, topic: str, send: Send, admin: Admin
) -> None:
    cluster.create_topic(f"{topic}-a")
    send(f"{topic}-a", 1)
    stream = Stream(cluster, subscribePattern=f"{topic}-.*", startingOffsets="earliest", maxOffsetsPerTrigger="100")
    until(stream, [1])
    admin.create_partitions({f"{topic}-a": NewPartitions(2)})
    cluster.create_topic(f"{topic}-b")
    send(f"{topic}-a", 2, partition=1)
    send(f"{topic}-b", 3)
    until(stream, [2, 3])
    assert stream.place == {f"{topic}-a": {"0": 1, "1": 1}, f"{topic}-b": {"0": 1}}


def test_a_pattern_that_matches_nothing_yet(cluster: LocalCluster, topic: str, send: Send) -> None:
    stream = Stream(cluster, subscribePattern=f"{topic}-x")
    assert stream.batch() == []
    cluster.create_topic(f"{topic}-x")
    send(f"{topic}-x", 1, 2)
    until(stream, [1, 2])  # what did not exist at the start is read from its beginning, latest or not


def test_tools_see_where_it_is(cluster: LocalCluster, topic: str, send: Send, admin: Admin) -> None:
    cluster.create_topic(topic)
    send(topic, 1, 2, 3)
    group = f"group-{topic}"
    settings: dict[str, Any] = {"subscribe": topic, "startingOffsets": "earliest", "kafka.group.id": group}
    stream = Stream(cluster, **settings)

    def committed() -> list[int]:
        found = admin.list_consumer_group_offsets([group])[group]
        return [each.offset for each in found.values() if each is not None]

    assert len(stream.batch()) == 3
    assert committed() == [0]  # the batch is not finished before the next is asked for
    assert stream.batch() == []
    assert committed() == [3]
    send(topic, 4)
    stream.batch()
    stream.reader.commit(stream.place)
    assert committed() == [4]


def test_offsets_may_stay_private(cluster: LocalCluster, topic: str, send: Send, admin: Admin) -> None:
    cluster.create_topic(topic)
    group = f"group-{topic}"
    settings = {"subscribe": topic, "startingOffsets": "earliest", "kafka.group.id": group, "commitOffsets": "false"}
    stream = Stream(cluster, **settings)
    send(topic, 1)
    until(stream, [1])
    stream.batch()
    assert group not in {each.group_id for each in admin.list_consumer_groups()}
