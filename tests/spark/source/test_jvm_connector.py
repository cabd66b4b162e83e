"""Spark's own Kafka connector with our broker, and beside our source: what one writes or leaves, the other takes up."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from moldau import Producer
from moldau.testing.local_cluster import LocalCluster
from tests.spark.source.test_spark_source import numbers_in, options, send

pytestmark = [pytest.mark.slow, pytest.mark.java]


def stream(
    spark: SparkSession, connector: str, cluster: LocalCluster, topic: str, folder: Path, **more: str
) -> list[int]:
    """A run of a query up to what there is; what its table has then."""
    rows = spark.readStream.format(connector).options(**options(cluster, topic, **more)).load()
    writer = rows.writeStream.format("parquet").option("path", str(folder / "table"))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    return numbers_in(spark.read.parquet(str(folder / "table")))


def test_both_read_the_same(spark: SparkSession, cluster: LocalCluster, topic: str) -> None:
    """Every column of every row, with headers, nulls, transactions and timestamps of both kinds."""
    names = [f"{topic}-create", f"{topic}-append"]
    for name, kind in zip(names, ("CreateTime", "LogAppendTime"), strict=True):
        cluster.create_topic(name, 2, {"message.timestamp.type": kind})
        with Producer(bootstrap_servers=cluster.bootstrap_servers, transactional_id=f"id-{name}") as producer:
            producer.init_transactions()
            for number in range(40):
                producer.begin_transaction()
                headers = [("a", b"%d" % number), ("a", None)] if number % 3 else []
                key = None if number % 5 == 0 else b"k"
                producer.send(name, b"%d" % number, key=key, headers=headers, partition=number % 2)
                producer.flush()
                producer.abort_transaction() if number % 4 == 0 else producer.commit_transaction()
    for level, count in (("read_uncommitted", 80), ("read_committed", 60)):
        more = {"kafka.isolation.level": level, "includeHeaders": "true"}
        ours, theirs = (
            spark.read.format(connector).options(**options(cluster, ",".join(names), **more)).load()
            for connector in ("moldau", "kafka")
        )
        assert ours.schema == theirs.schema
        rows = in_order(ours)
        assert len(rows) == count
        assert rows == in_order(theirs)


def in_order(rows: DataFrame) -> list[Row]:
    return sorted(rows.collect(), key=lambda row: (row.topic, row.partition, row.offset))


def test_the_jvms_writes_are_read_by_both(
    spark: SparkSession, cluster: LocalCluster, topic: str, tmp_path: Path
) -> None:
    cluster.create_topic(topic, 2)
    numbers = spark.range(100).selectExpr("cast(id as string) as key", "cast(id as string) as value")
    to_topic = {"kafka.bootstrap.servers": cluster.bootstrap_servers, "topic": topic}
    numbers.write.format("kafka").options(**to_topic).save()
    cluster.create_topic(f"{topic}-copy", 2)
    copied = spark.readStream.format("moldau").options(**options(cluster, topic, startingOffsets="earliest")).load()
    writer = copied.select("key", "value").writeStream.format("kafka").options(**{**to_topic, "topic": f"{topic}-copy"})
    query = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    for connector, name in (("moldau", topic), ("kafka", f"{topic}-copy")):
        rows = spark.read.format(connector).options(**options(cluster, name)).load()
        assert numbers_in(rows) == list(range(100))


def test_a_query_changes_its_connector_and_goes_back(
    spark: SparkSession, cluster: LocalCluster, topic: str, tmp_path: Path
) -> None:
    """The same checkpoint: replacing the format is the whole migration."""
    cluster.create_topic(topic, 2)
    for turn, connector in enumerate(("kafka", "moldau", "kafka"), 1):
        send(cluster, topic, range(50 * (turn - 1), 50 * turn))
        assert stream(spark, connector, cluster, topic, tmp_path, startingOffsets="earliest") == list(range(50 * turn))
