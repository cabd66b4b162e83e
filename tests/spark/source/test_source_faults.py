"""What is lost, gone or out of reach: an error that names option and value, or with failOnDataLoss=false none."""

from __future__ import annotations

import socket

import pytest

from moldau import Admin, Producer
from moldau.clients.records import TopicPartition
from moldau.pipeline.datasource import MoldauDataSource
from moldau.pipeline.options import OptionError
from moldau.pipeline.source.asking import ClusterUnavailable
from moldau.pipeline.source.data_loss import DataLoss
from moldau.testing.local_cluster import LocalCluster
from tests.spark.source.reading import Stream, read_batch, rows_of, source

pytestmark = pytest.mark.slow

# So that what is not there is not waited for.
QUICK = {"fetchOffset.numRetries": "2", "fetchOffset.retryIntervalMs": "50"}


@pytest.fixture
def filled(cluster: LocalCluster, topic: str) -> str:
    """A topic with the records 0 to 9."""
    cluster.create_topic(topic)
    send(cluster, topic)
    return topic


def send(cluster: LocalCluster, topic: str, first: int = 0) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        for number in range(first, first + 10):
            producer.send(topic, b"%d" % number).result(5)


def expire(cluster: LocalCluster, topic: str, before: int) -> None:
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        admin.delete_records({TopicPartition(topic, 0): before})


def test_nobody_at_the_address() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        made = MoldauDataSource(
            {
                "kafka.bootstrap.servers": address,
                "subscribe": "t",
                "kafka.default.api.timeout.ms": "300",
                "kafka.request.timeout.ms": "200",
            }
        )
        reader = made.reader(made.schema())
        with pytest.raises(ClusterUnavailable, match=rf"'kafka\.bootstrap\.servers' is '{address}'"):
            reader.partitions()


def test_a_topic_that_is_not_there(cluster: LocalCluster) -> None:
    with pytest.raises(OptionError, match="subscribe='a-slip': there is no a-slip in the cluster at"):
        read_batch(cluster, subscribe="a-slip", **QUICK)
    with pytest.raises(OptionError, match="subscribe='a-slip'"):
        Stream(cluster, subscribe="a-slip", startingOffsets="earliest", **QUICK)
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        assert "a-slip" not in admin.list_topics()  # a question does not create it


def test_a_partition_that_is_not_there(cluster: LocalCluster, filled: str) -> None:
    with pytest.raises(OptionError, match=f"there is no {filled}-7 in the cluster"):
        read_batch(cluster, assign=f'{{"{filled}":[0,7]}}', **QUICK)


def test_offsets_that_have_expired(cluster: LocalCluster, filled: str) -> None:
    stream = Stream(cluster, subscribe=filled, startingOffsets="earliest")
    lenient = Stream(cluster, subscribe=filled, startingOffsets="earliest", failOnDataLoss="false")
    expire(cluster, filled, 6)
    with pytest.raises(
        DataLoss, match=rf"{filled}-0 from 0 to 10: offset 0 is out of range, there are 6 to 10\..*'false'"
    ):
        stream.batch()
    assert [row["offset"] for row in lenient.batch()] == [6, 7, 8, 9]
    assert lenient.place == {filled: {"0": 10}}
    wanted = {"startingOffsets": f'{{"{filled}":{{"0":2}}}}', "subscribe": filled}
    with pytest.raises(DataLoss, match="failOnDataLoss"):
        read_batch(cluster, **wanted)
    assert len(read_batch(cluster, failOnDataLoss="false", **wanted)) == 4


def test_all_offsets_of_a_batch_have_expired(cluster: LocalCluster, filled: str) -> None:
    stream = Stream(cluster, subscribe=filled, startingOffsets="earliest", failOnDataLoss="false")
    tasks = stream.partitions({filled: {"0": 5}})
    expire(cluster, filled, 8)
    assert rows_of(stream.task.read(tasks[0])) == []


def test_a_topic_that_is_deleted_while_it_is_read(cluster: LocalCluster, filled: str, topic: str) -> None:
    cluster.create_topic(f"{topic}-kept")
    both = {"subscribe": f"{filled},{topic}-kept", "startingOffsets": "earliest", **QUICK}
    stream, lenient = Stream(cluster, **both), Stream(cluster, failOnDataLoss="false", **both)
    for each in (stream, lenient):
        assert len(each.batch()) == 10
    cluster.delete_topic(filled)
    for each in (stream, lenient):
        each.reader._partitions_at_ms = float("-inf")  # type: ignore[attr-defined]  # look at once, not in a second
    with pytest.raises(DataLoss, match=f"there is no {filled} in the cluster"):
        stream.batch()
    assert lenient.batch() == []
    assert lenient.place == {f"{topic}-kept": {"0": 0}}
    send(cluster, f"{topic}-kept")
    assert len(lenient.batch()) == 10


def test_a_topic_that_was_made_anew(cluster: LocalCluster, filled: str) -> None:
    stream = Stream(cluster, subscribe=filled, startingOffsets="earliest", **QUICK)
    lenient = Stream(cluster, subscribe=filled, startingOffsets="earliest", failOnDataLoss="false", **QUICK)
    assert (len(stream.batch()), len(lenient.batch())) == (10, 10)
    cluster.delete_topic(filled)
    cluster.create_topic(filled)
    with pytest.raises(DataLoss, match=f"The end of {filled}-0 was changed from 10 to 0"):
        stream.batch()
    assert lenient.batch() == []
    send(cluster, filled)
    assert len(lenient.batch()) == 10


def test_a_new_partition_whose_beginning_is_gone(cluster: LocalCluster, filled: str, topic: str) -> None:
    options = {"subscribePattern": f"{topic}.*", "startingOffsets": "earliest"}
    stream, lenient = Stream(cluster, **options), Stream(cluster, failOnDataLoss="false", **options)
    cluster.create_topic(f"{topic}-new")
    send(cluster, f"{topic}-new")
    expire(cluster, f"{topic}-new", 4)
    with pytest.raises(DataLoss, match=f"Added partition {topic}-new-0 starts from 4 instead of 0"):
        stream.batch()
    assert len(lenient.batch()) == 16


def test_a_task_whose_topic_is_gone(cluster: LocalCluster, filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moldau.pipeline.source.fetching.ABSENT_MS_MAX", 200)
    monkeypatch.setattr("moldau.pipeline.source.fetching.KNOWN_MS_MAX", 100)
    for lenient in ("true", "false"):
        stream = Stream(cluster, subscribe=filled, startingOffsets="earliest", failOnDataLoss=lenient)
        tasks = stream.partitions({filled: {"0": 10}})
        cluster.delete_topic(filled)
        if lenient == "true":
            with pytest.raises(DataLoss, match=f"{filled}-0 is gone"):
                rows_of(stream.task.read(tasks[0]))
            cluster.create_topic(filled)
        else:
            assert rows_of(stream.task.read(tasks[0])) == []


def test_the_broker_is_away_for_a_while() -> None:
    """Neither the driver nor a task minds, if it comes back before their patience ends."""
    with LocalCluster() as away:
        away.create_topic("t")
        send(away, "t")
        stream = Stream(away, subscribe="t", startingOffsets="earliest")
        assert len(stream.batch()) == 10
        send(away, "t", 10)
        end = {"t": {"0": 20}}
        tasks = stream.partitions(end)
        away.restart()
        assert [row["offset"] for row in rows_of(stream.task.read(tasks[0]))] == list(range(10, 20))
        assert [row["offset"] for row in stream.batch()] == list(range(10, 20))


def test_the_broker_is_away_for_too_long() -> None:
    settings = {
        "kafka.default.api.timeout.ms": "400",
        "kafka.request.timeout.ms": "300",
        "kafkaConsumer.pollTimeoutMs": "400",
    }
    with LocalCluster() as away:
        away.create_topic("t")
        send(away, "t")
        address = away.bootstrap_servers
        stream = Stream(away, subscribe="t", startingOffsets="earliest", **settings, **QUICK)
        tasks = stream.partitions({"t": {"0": 10}})
        away.stop()
        with pytest.raises(ClusterUnavailable, match=rf"'kafka\.bootstrap\.servers' is '{address}'"):
            stream.batch()
        with pytest.raises(ClusterUnavailable, match=r"no record of t-0 at offset 0.*kafkaConsumer\.pollTimeoutMs"):
            rows_of(stream.task.read(tasks[0]))


def test_who_stops_reading_leaves_nothing_behind(cluster: LocalCluster, filled: str) -> None:
    reader = (made := source(cluster, subscribe=filled)).reader(made.schema())
    rows = reader.read(reader.partitions()[0])
    next(rows)
    rows.close()  # type: ignore[union-attr]  # it is a generator
    assert len(read_batch(cluster, subscribe=filled)) == 10
