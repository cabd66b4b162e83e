"""What a source makes of records: columns, gaps, transactions, compressed and compacted batches."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import pytest

from moldau import Producer
from moldau.clients.records import TopicPartition
from moldau.pipeline.options import OptionError
from moldau.testing.local_cluster import LocalCluster
from tests.spark.source.reading import Stream, read_batch, source

pytestmark = pytest.mark.slow


def producer(cluster: LocalCluster, **settings: Any) -> Producer:
    return Producer(bootstrap_servers=cluster.bootstrap_servers, **settings)


def values(rows: list[dict[str, Any]]) -> list[bytes]:
    return [row["value"] for row in rows]


def test_columns_are_those_of_sparks_connector(cluster: LocalCluster, topic: str) -> None:
    cluster.create_topic(topic, 2)
    with producer(cluster) as sending:
        headers = [("a", b"1"), ("b", None)]
        sending.send(topic, b"v", key=b"k", partition=1, timestamp=1_700_000_000_123, headers=headers).result(5)
        sending.send(topic, None, partition=1, timestamp=0).result(5)
    first, second = read_batch(cluster, subscribe=topic, includeHeaders="true")
    assert first == {
        "key": b"k",
        "value": b"v",
        "topic": topic,
        "partition": 1,
        "offset": 0,
        "timestamp": datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=UTC),
        "timestampType": 0,
        "headers": [{"key": "a", "value": b"1"}, {"key": "b", "value": None}],
    }
    assert (second["key"], second["value"], second["headers"]) == (None, None, None)
    assert "headers" not in read_batch(cluster, subscribe=topic)[0]


def test_log_append_time(cluster: LocalCluster, topic: str) -> None:
    cluster.create_topic(topic, 1, {"message.timestamp.type": "LogAppendTime"})
    before = time.time() - 1
    with producer(cluster) as sending:
        sending.send(topic, b"v", timestamp=5).result(5)
    (row,) = read_batch(cluster, subscribe=topic)
    assert row["timestampType"] == 1
    assert row["timestamp"].timestamp() > before


def test_a_narrowed_schema_is_all_that_comes(cluster: LocalCluster, topic: str) -> None:
    cluster.create_topic(topic)
    with producer(cluster) as sending:
        sending.send(topic, b"v", key=b"k").result(5)
    assert read_batch(cluster, "offset long, value binary", subscribe=topic) == [{"offset": 0, "value": b"v"}]
    assert read_batch(cluster, "offset long not null", subscribe=topic) == [{"offset": 0}]


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ("name string", "'name', which records do not have"),
        ("value string", "'value' is string and has to be binary"),
        ("key binary not null", "'key' is NOT NULL"),
    ],
)
def test_a_schema_that_records_do_not_have(cluster: LocalCluster, schema: str, text: str) -> None:
    with pytest.raises(OptionError, match=text):
        read_batch(cluster, schema, subscribe="t")


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_many_records_in_compressed_batches(cluster: LocalCluster, topic: str, compression: str) -> None:
    """Ranges begin and end in the middle of batches."""
    cluster.create_topic(topic)
    with producer(cluster, compression_type=compression, linger_ms=20) as sending:
        for number in range(5_000):
            sending.send(topic, b"%d" % number, key=b"k%d" % number)
    rows = read_batch(cluster, subscribe=topic, minPartitions="7")
    assert values(rows) == [b"%d" % number for number in range(5_000)]
    assert [row["offset"] for row in rows] == list(range(5_000))
    span = {"startingOffsets": f'{{"{topic}":{{"0":17}}}}', "endingOffsets": f'{{"{topic}":{{"0":4321}}}}'}
    assert [row["offset"] for row in read_batch(cluster, subscribe=topic, **span)] == list(range(17, 4321))


def test_more_bytes_than_a_fetch_brings(cluster: LocalCluster, topic: str) -> None:
    cluster.create_topic(topic)
    with producer(cluster) as sending:
        for number in range(300):
            sending.send(topic, b"%d" % number + b"." * 50_000)
    rows = read_batch(cluster, subscribe=topic)
    assert [int(row["value"].partition(b".")[0]) for row in rows] == list(range(300))
    # Less than a batch has: it comes whole all the same.
    small = read_batch(cluster, subscribe=topic, **{"kafka.max.partition.fetch.bytes": "1000"})
    assert len(small) == 300


def test_read_committed_sees_whole_transactions_only(cluster: LocalCluster, topic: str) -> None:
    cluster.create_topic(topic)
    settings = {"subscribe": topic, "kafka.isolation.level": "read_committed"}
    with producer(cluster, transactional_id=f"id-{topic}") as sending:
        sending.init_transactions()
        for number in range(4):
            sending.begin_transaction()
            for step in range(10):
                sending.send(topic, b"%d.%d" % (number, step))
            sending.flush()  # or an abort would forget what was not sent yet
            if number % 2:
                sending.abort_transaction()
            else:
                sending.commit_transaction()
        stream = Stream(cluster, startingOffsets="earliest", **settings)
        committed = [b"%d.%d" % (number, step) for number in (0, 2) for step in range(10)]
        assert values(read_batch(cluster, **settings)) == committed
        assert len(read_batch(cluster, subscribe=topic)) == 40
        assert values(stream.batch()) == committed
        sending.begin_transaction()
        sending.send(topic, b"open").result(5)
        # Its end is the last stable offset: what is open is not waited for.
        assert values(read_batch(cluster, **settings)) == committed
        assert stream.batch() == []
        sending.commit_transaction()
        assert values(stream.batch()) == [b"open"]


def test_a_range_whose_end_was_deleted_or_compacted_away(cluster: LocalCluster, topic: str) -> None:
    """Transaction markers take offsets that no record has, also at the very end."""
    cluster.create_topic(topic)
    with producer(cluster, transactional_id=f"id-{topic}") as sending:
        sending.init_transactions()
        for number in range(3):
            sending.begin_transaction()
            sending.send(topic, b"%d" % number)
            sending.commit_transaction()
    rows = read_batch(cluster, subscribe=topic, maxRecordsPerPartition="1")
    assert [(row["offset"], row["value"]) for row in rows] == [(0, b"0"), (2, b"1"), (4, b"2")]


def test_a_wild_timestamp_does_not_end_a_query(cluster: LocalCluster, topic: str) -> None:
    cluster.create_topic(topic, 1, {"message.timestamp.after.max.ms": str((1 << 63) - 1)})
    with producer(cluster) as sending:
        sending.send(topic, b"v", timestamp=(1 << 63) - 1).result(5)
    reader = (made := source(cluster, subscribe=topic)).reader(made.schema())
    batches: list[Any] = list(reader.read(reader.partitions()[0]))
    assert batches[0]["timestamp"].cast("int64").to_pylist() == [(1 << 63) - 1 - 807]  # the last whole millisecond


def test_several_topics_and_what_is_assigned(cluster: LocalCluster, topic: str) -> None:
    cluster.create_topic(f"{topic}-a", 2)
    cluster.create_topic(f"{topic}-b", 2)
    with producer(cluster) as sending:
        for name in ("a", "b"):
            for number in range(2):
                sending.send(f"{topic}-{name}", f"{name}{number}".encode(), partition=number)
    assert values(read_batch(cluster, subscribe=f"{topic}-a,{topic}-b")) == [b"a0", b"a1", b"b0", b"b1"]
    assert values(read_batch(cluster, subscribePattern=f"{topic}-[b-z]")) == [b"b0", b"b1"]
    assert values(read_batch(cluster, assign=f'{{"{topic}-b":[1],"{topic}-a":[0]}}')) == [b"a0", b"b1"]
    assert read_batch(cluster, subscribePattern=f"{topic}-none") == []


def test_offsets_by_time(cluster: LocalCluster, topic: str) -> None:
    cluster.create_topic(topic, 2)
    with producer(cluster) as sending:
        for number in range(10):
            sending.send(topic, b"%d" % number, partition=number % 2, timestamp=1000 + number).result(5)
    assert values(read_batch(cluster, subscribe=topic, startingTimestamp="1006")) == [b"6", b"8", b"7", b"9"]
    assert values(read_batch(cluster, subscribe=topic, endingTimestamp="1003")) == [b"0", b"2", b"1"]
    by_partition = f'{{"{topic}":{{"0":1008,"1":1009}}}}'
    assert values(read_batch(cluster, subscribe=topic, startingOffsetsByTimestamp=by_partition)) == [b"8", b"9"]
    with pytest.raises(OptionError, match=r"startingTimestamp='2000': no offset matched.*timestamp 2000"):
        read_batch(cluster, subscribe=topic, startingTimestamp="2000")
    late = {"startingTimestamp": "1009", "startingOffsetsByTimestampStrategy": "latest"}
    assert values(read_batch(cluster, subscribe=topic, **late)) == [b"9"]
    with pytest.raises(OptionError, match="has to name all partitions"):
        read_batch(cluster, subscribe=topic, startingOffsets=f'{{"{topic}":{{"0":0}}}}')


def test_filters_narrow_what_is_read(cluster: LocalCluster, topic: str) -> None:
    from pyspark.sql.datasource import EqualTo, GreaterThanOrEqual, LessThan

    from moldau.pipeline.options import Options
    from moldau.pipeline.source.batch_reading import PushingBatchReader
    from moldau.pipeline.source.ranges import OffsetRange
    from moldau.pipeline.source.schema import PLAIN_SCHEMA
    from moldau.pipeline.source.source_options import read_batch_options

    cluster.create_topic(topic, 2)
    with producer(cluster) as sending:
        for number in range(20):
            sending.send(topic, b"%d" % number, partition=number % 2, timestamp=1000 + number).result(5)
    options = Options({"kafka.bootstrap.servers": cluster.bootstrap_servers, "subscribe": topic})
    reader = PushingBatchReader(read_batch_options(options), PLAIN_SCHEMA)
    time_filter = GreaterThanOrEqual(("timestamp",), datetime.fromtimestamp(1.010, UTC))
    left = reader.pushFilters([EqualTo(("partition",), 1), LessThan(("offset",), 8), time_filter])
    assert left == [time_filter]
    (partition,) = reader.partitions()
    # 1009 is a millisecond early, and has offset 4 of partition 1.
    assert partition.value == OffsetRange(*TopicPartition(topic, 1), 4, 8)
