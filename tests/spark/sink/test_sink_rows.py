"""Rows become records: what each column does, and what cannot be written says why, with nothing visible."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from moldau.base.config.schema import Scope
from moldau.base.errors import MoldauError
from moldau.clients.errors import TopicMissing
from moldau.clients.producer.partitioners import partition_of_key
from moldau.pipeline.link import close_links, link_to
from moldau.pipeline.sink.errors import SinkError
from moldau.testing.local_cluster import LocalCluster
from tests.spark.sink.writing import records_of, values_of, write

pytestmark = pytest.mark.slow

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@pytest.fixture(autouse=True)
def _links() -> Iterator[None]:
    yield
    close_links()


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_all_columns_arrive(cluster: LocalCluster, topic: str, delivery: str) -> None:
    cluster.create_topic(topic, 3)
    when = datetime(2024, 5, 6, 7, 8, 9, 123000, UTC)
    rows = {
        "topic": pa.array([topic] * 4),
        "key": pa.array(["a", "b", None, None]),
        "value": pa.array([b"1", None, b"", b"4"], pa.binary()),
        "partition": pa.array([2, None, None, 1], pa.int32()),
        "timestamp": pa.array([when, None, when, when], pa.timestamp("us", "UTC")),
        "headers": pa.array([[("h", b"x"), ("h", None)], [], None, [("ü", b"")]], HEADERS),
        "other": pa.array([1.0, 2.0, 3.0, 4.0]),
    }
    assert write(cluster.bootstrap_servers, rows, delivery=delivery) == 4
    found = {each.value: each for each in records_of(cluster.bootstrap_servers, topic)}
    assert found[b"1"].partition == 2
    assert found[b"1"].headers == (("h", b"x"), ("h", None))
    assert found[b"1"].timestamp == int(when.timestamp() * 1000)
    assert found[None].key == b"b"
    assert found[None].partition == partition_of_key(b"b", 3)
    assert found[None].timestamp > found[b"1"].timestamp
    assert found[b""].key is None
    assert found[b"4"].partition == 1
    assert found[b"4"].headers == (("ü", b""),)


@pytest.mark.slow
def test_rows_without_keys_are_spread(cluster: LocalCluster, topic: str) -> None:
    cluster.create_topic(topic, 4)
    tasks = [{"value": pa.array([b"x" * 100] * 20_000)} for _ in range(4)]
    write(cluster.bootstrap_servers, *tasks, topic=topic)
    found = records_of(cluster.bootstrap_servers, topic)
    assert len(found) == 80_000
    assert len({each.partition for each in found}) > 1


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_batches_are_compressed(cluster: LocalCluster, topic: str, codec: str) -> None:
    cluster.create_topic(topic)
    rows = {"value": pa.array([str(number) for number in range(5000)])}
    write(cluster.bootstrap_servers, rows, topic=topic, **{"kafka.compression.type": codec})
    assert values_of(cluster.bootstrap_servers, topic) == sorted(map(str, range(5000)))


def test_several_topics_are_one_write(cluster: LocalCluster, topic: str) -> None:
    names = [f"{topic}-{number}" for number in range(3)]
    for name in names:
        cluster.create_topic(name)
    rows = {
        "topic": pa.array([names[number % 3] for number in range(30)]),
        "value": pa.array(list(map(str, range(30)))),
    }
    write(cluster.bootstrap_servers, rows)
    for index, name in enumerate(names):
        assert values_of(cluster.bootstrap_servers, name) == sorted(map(str, range(index, 30, 3)))


def test_a_write_without_rows_writes_nothing(cluster: LocalCluster, topic: str) -> None:
    cluster.create_topic(topic)
    assert write(cluster.bootstrap_servers, {"value": pa.array([], pa.string())}, topic=topic) == 0
    assert records_of(cluster.bootstrap_servers, topic, "read_uncommitted") == []


BAD = [
    pytest.param({"topic": pa.array([None], pa.string())}, {}, "null topic present in the data", id="null topic"),
    pytest.param(
        {"partition": pa.array([7], pa.int32())}, {}, "names partition 7, and topic .* 0 to 0", id="partition"
    ),
    pytest.param({"headers": pa.array([[(None, b"x")]], HEADERS)}, {}, "a header has no key", id="header"),
    pytest.param(
        {"value": pa.array([b"x" * 2000])},
        {"kafka.max.request.size": "1000"},
        "a record for topic .* is 2.* bytes when serialized, more than 1000",
        id="too large for the client",
    ),
    pytest.param(
        {"value": pa.array([b"x" * 20_000])}, {}, "larger than the topic allows", id="too large for the topic"
    ),
]


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
@pytest.mark.parametrize(("rows", "options", "said"), BAD)
def test_a_bad_row_fails_the_write(
    cluster: LocalCluster, topic: str, delivery: str, rows: dict[str, pa.Array], options: dict[str, str], said: str
) -> None:
    cluster.create_topic(topic, config={"max.message.bytes": "10000"})
    good = {"topic": pa.array([topic] * 10), "value": pa.array([b"good"] * 10)}
    bad = {"topic": pa.array([topic]), "value": pa.array([b"bad"]), **rows}
    with pytest.raises(MoldauError, match=said):
        write(cluster.bootstrap_servers, good, bad, delivery=delivery, **options)
    if delivery == "exactly-once":
        assert records_of(cluster.bootstrap_servers, topic) == []
        write(cluster.bootstrap_servers, good)  # and nothing stands in the way of the next
        assert len(records_of(cluster.bootstrap_servers, topic)) == 10


@pytest.fixture(scope="module")
def strict() -> Iterator[LocalCluster]:
    """Brokers that create no topic that was not asked for by a command."""
    with LocalCluster({"auto.create.topics.enable": "false"}) as running:
        yield running


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_a_topic_that_is_not_there_is_created_where_brokers_do_that(
    cluster: LocalCluster, topic: str, delivery: str
) -> None:
    write(cluster.bootstrap_servers, {"value": pa.array([b"x"])}, topic=topic, delivery=delivery)
    assert values_of(cluster.bootstrap_servers, topic) == ["x"]


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_a_topic_that_nobody_creates_is_told_with_what_to_do(strict: LocalCluster, topic: str, delivery: str) -> None:
    servers = strict.bootstrap_servers
    options = {"kafka.max.block.ms": "500", "delivery": delivery, "topic": topic}
    with pytest.raises(SinkError) as raised:
        write(servers, {"value": pa.array([b"x"])}, **options)
    assert str(raised.value) == (
        f"topic {topic} (option topic) does not exist at {servers}, and was not created within 500 ms. Create it: "
        f"kafka-topics --bootstrap-server {servers} --create --topic {topic}; or set auto.create.topics.enable=true on "
        "the brokers"
    )


def test_the_topic_of_decisions_is_not_left_to_brokers_that_create_topics(cluster: LocalCluster, topic: str) -> None:
    """It would come without compaction, and lose decisions."""
    link = link_to({"bootstrap.servers": cluster.bootstrap_servers}, Scope.PRODUCER)
    with pytest.raises(TopicMissing):
        link.run(link.cluster.topic(topic, 300))


@pytest.mark.parametrize("delivery", ["exactly-once", "at-least-once"])
def test_a_broker_that_cannot_be_reached(topic: str, delivery: str) -> None:
    options = {"kafka.max.block.ms": "500", "delivery": delivery}
    with pytest.raises(MoldauError, match=r"127\.0\.0\.1:1"):
        write("127.0.0.1:1", {"value": pa.array([b"x"])}, topic=topic, **options)


def test_a_timeout_that_the_broker_does_not_allow(cluster: LocalCluster, topic: str) -> None:
    cluster.create_topic(topic)
    options = {"kafka.transaction.timeout.ms": "900001", "topic": topic}
    with pytest.raises(MoldauError, match=r"'kafka.transaction.timeout.ms' is '900001'.*no more than 900000"):
        write(cluster.bootstrap_servers, {"value": pa.array([b"x"])}, **options)


@pytest.mark.slow
def test_the_default_timeout_yields_to_the_broker(topic: str) -> None:
    with LocalCluster({"transaction.max.timeout.ms": "60000"}) as small:
        small.create_topic(topic)
        write(small.bootstrap_servers, {"value": pa.array(["x"])}, topic=topic)
        assert values_of(small.bootstrap_servers, topic) == ["x"]
        close_links()
