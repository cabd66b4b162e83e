"""The source in a real Spark: tables, streams, restarts, filters, and what Spark says when something is wrong."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from moldau import Admin, Producer
from moldau.clients.admin import NewPartitions
from moldau.testing.local_cluster import LocalCluster

pytestmark = [pytest.mark.slow, pytest.mark.java]


def send(cluster: LocalCluster, topic: str, numbers: range, partitions: int = 2, **settings: Any) -> None:
    with Producer(bootstrap_servers=cluster.bootstrap_servers, **settings) as producer:
        for number in numbers:
            producer.send(topic, b"%d" % number, key=b"k%d" % number, partition=number % partitions)


def options(cluster: LocalCluster, topic: str, **more: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": cluster.bootstrap_servers, "subscribe": topic, **more}


def table(spark: SparkSession, cluster: LocalCluster, topic: str, **more: str) -> DataFrame:
    return spark.read.format("moldau").options(**options(cluster, topic, **more)).load()


def numbers_in(rows: DataFrame) -> list[int]:
    return sorted(row[0] for row in rows.selectExpr("cast(cast(value as string) as int)").collect())


def wait_until(condition: Callable[[], bool], query: StreamingQuery, timeout_s: float = 30.0) -> None:
    ends_at = time.monotonic() + timeout_s
    while not condition():
        assert query.exception() is None, query.exception()
        assert time.monotonic() < ends_at, query.lastProgress
        time.sleep(0.05)


def committed(cluster: LocalCluster, group: str) -> dict[int, int]:
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        found = admin.list_consumer_group_offsets([group])[group]
        return {each.partition: at.offset for each, at in found.items() if at is not None}


def test_a_topic_is_a_table(spark: SparkSession, cluster: LocalCluster, topic: str) -> None:
    """Nobody has registered anything: Spark finds the source by itself."""
    cluster.create_topic(topic, 2)
    send(cluster, topic, range(1000))
    rows = table(spark, cluster, topic, includeHeaders="true", minPartitions="4")
    assert rows.dtypes == [
        ("key", "binary"),
        ("value", "binary"),
        ("topic", "string"),
        ("partition", "int"),
        ("offset", "bigint"),
        ("timestamp", "timestamp"),
        ("timestampType", "int"),
        ("headers", "array<struct<key:string,value:binary>>"),
    ]
    assert rows.rdd.getNumPartitions() == 4
    assert numbers_in(rows) == list(range(1000))
    assert rows.where("partition = 1 and offset >= 490").count() == 10
    narrow = spark.read.format("moldau").schema("value binary, offset long").options(**options(cluster, topic)).load()
    assert narrow.columns == ["value", "offset"]
    assert numbers_in(narrow) == list(range(1000))
    spark.sql(
        f"CREATE TEMPORARY VIEW {topic.replace('-', '_')} USING moldau OPTIONS "
        f"('kafka.bootstrap.servers' '{cluster.bootstrap_servers}', 'subscribe' '{topic}')"
    )
    assert spark.sql(f"SELECT count(*) FROM {topic.replace('-', '_')}").first() == (1000,)


def test_filters_are_pushed_where_spark_does_so(spark: SparkSession, cluster: LocalCluster, topic: str) -> None:
    cluster.create_topic(topic, 2)
    send(cluster, topic, range(100))
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        rows = table(spark, cluster, topic).where("partition = 1 and offset between 10 and 12")
        assert numbers_in(rows) == [21, 23, 25]
        assert rows.rdd.getNumPartitions() == 1
        late = table(spark, cluster, topic).where(
            "timestamp >= current_timestamp() - interval 1 hour and partition in (0, 1)"
        )
        assert late.count() == 100
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
    assert numbers_in(table(spark, cluster, topic).where("partition = 1 and offset between 10 and 12")) == [21, 23, 25]


def test_an_empty_topic(spark: SparkSession, cluster: LocalCluster, topic: str) -> None:
    cluster.create_topic(topic)
    assert table(spark, cluster, topic).count() == 0


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (
            {"subscribe": "not-there", "fetchOffset.retryIntervalMs": "20"},
            "subscribe='not-there': there is no not-there",
        ),
        ({"startingOffsets": "latest"}, "startingOffsets='latest': starting offset can't be latest"),
        ({"kafka.auto.offset.reset": "latest"}, "Kafka option 'auto.offset.reset' is not supported"),
        ({"minPartitions": "-1"}, "Option 'minPartitions' is '-1'"),
    ],
)
def test_spark_says_what_is_wrong(
    spark: SparkSession, cluster: LocalCluster, topic: str, more: dict[str, str], text: str
) -> None:
    with pytest.raises(Exception, match=text):
        table(spark, cluster, topic, **more).count()


def test_a_stream_goes_on_where_it_was_and_tools_see_all_of_it(
    spark: SparkSession, cluster: LocalCluster, topic: str, tmp_path: Path
) -> None:
    cluster.create_topic(topic, 2)
    send(cluster, topic, range(100))
    group = f"group-{topic}"

    def run() -> StreamingQuery:
        more = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "40", "kafka.group.id": group}
        stream = spark.readStream.format("moldau").options(**options(cluster, topic, **more)).load()
        writer = stream.writeStream.format("parquet").option("path", str(tmp_path / "table"))
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        assert query.awaitTermination(60)
        return query

    query = run()
    assert [each.numInputRows for each in query.recentProgress if each.numInputRows] == [40, 40, 20]
    assert committed(cluster, group) == {0: 50, 1: 50}  # of the last batch too
    assert (tmp_path / "checkpoint" / "offsets" / "2").read_text().splitlines()[
        -1
    ] == f'{{"{topic}": {{"0": 50, "1": 50}}}}'
    send(cluster, topic, range(100, 110))
    run()
    assert committed(cluster, group) == {0: 55, 1: 55}
    assert numbers_in(spark.read.parquet(str(tmp_path / "table"))) == list(range(110))


def test_a_stream_that_runs_on(spark: SparkSession, cluster: LocalCluster, topic: str, tmp_path: Path) -> None:
    """From latest: what was there before is not read; partitions that are added are, from their beginning."""
    cluster.create_topic(topic)
    send(cluster, topic, range(10), partitions=1)
    group = f"group-{topic}"
    stream = spark.readStream.format("moldau").options(**options(cluster, topic, **{"kafka.group.id": group})).load()
    name = topic.replace("-", "_")
    query = (
        stream.writeStream.format("memory").queryName(name).option("checkpointLocation", str(tmp_path / "c")).start()
    )
    try:
        wait_until(lambda: bool(query.recentProgress), query)
        send(cluster, topic, range(10, 20), partitions=1)
        wait_until(lambda: spark.table(name).count() == 10, query)
        with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
            admin.create_partitions({topic: NewPartitions(2)})
        send(cluster, topic, range(20, 30), partitions=2)
        wait_until(lambda: spark.table(name).count() == 20, query)
        assert numbers_in(spark.table(name)) == list(range(10, 30))
        wait_until(lambda: committed(cluster, group) == {0: 25, 1: 5}, query)  # while it runs, idle
        progress = query.lastProgress
        assert progress is not None
        assert progress.sources[0].latestOffset == f'{{"{topic}": {{"0": 25, "1": 5}}}}'
    finally:
        query.stop()
