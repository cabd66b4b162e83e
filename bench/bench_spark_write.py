"""Our Spark sink against Spark's own Kafka connector: the same session, the same broker, the same rows, in turn.

2,000,000 rows of 100 bytes in 4 partitions of Spark are kept in memory, and written to a topic with 4 partitions; Spark
runs as local[2]. The connector writes at least once, which is all it can; ours writes at least once, and exactly once.
Each side is run once before anything is measured, and rates are medians of runs in turn.

The smallest batch is one record that goes from a topic to another, exactly once, with the settings that `moldau
pipeline` has; its time is what Spark reports of a batch. There is nothing to compare with but the bar: 200 ms.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from bench.bench_broker_process import BrokerProcess
from bench.measure import Row
from bench.moldau_server import MoldauServer
from bench.spark_jvm import jvm_session
from moldau import Admin, Producer
from moldau.pipeline.jobs.session import LOCAL_CHECKPOINT

PARTITIONS = 4
ROWS = 2_000_000
VALUE_BYTES = 100
REPETITIONS = 5
SMALL_BATCHES = 40
SMALL_WARM = 15
BATCHES_S_MAX = 120.0
BAR_MS = 200.0

EXACTLY_ONCE, AT_LEAST_ONCE, THEIRS = "exactly once", "at least once", "their at least once"
SINKS: Mapping[str, tuple[str, dict[str, str]]] = {
    EXACTLY_ONCE: ("moldau", {}),
    AT_LEAST_ONCE: ("moldau", {"delivery": "at-least-once"}),
    THEIRS: ("kafka", {}),
}


def rows_in_memory(spark: SparkSession) -> DataFrame:
    rows = spark.range(0, ROWS, 1, PARTITIONS).selectExpr(f"lpad(cast(id as string), {VALUE_BYTES}, '0') as value")
    cached = rows.cache()
    assert cached.count() == ROWS
    return cached


def write(rows: DataFrame, server: BrokerProcess, sink: str) -> float:
    """Rows a second into a new topic, which is deleted afterwards."""
    connector, options = SINKS[sink]
    topic = server.new_topic(PARTITIONS)
    started_s = time.perf_counter()
    writer = rows.write.format(connector).options(**options, topic=topic)
    writer.option("kafka.bootstrap.servers", server.bootstrap).mode("append").save()
    took_s = time.perf_counter() - started_s
    with Admin(bootstrap_servers=server.bootstrap) as admin:
        admin.delete_topics([topic])
    return ROWS / took_s


def rates(spark: SparkSession, server: BrokerProcess) -> dict[str, float]:
    rows = rows_in_memory(spark)
    samples: dict[str, list[float]] = {sink: [] for sink in SINKS}
    for _ in range(1 + REPETITIONS):
        for sink, its in samples.items():
            its.append(write(rows, server, sink))
    rows.unpersist()
    return {sink: statistics.median(its[1:]) for sink, its in samples.items()}


def smallest_batch_ms(spark: SparkSession, server: BrokerProcess) -> float:
    """The median time of batches with one record, one right after the other."""
    source, target = server.new_topic(1), server.new_topic(1)
    with Producer(bootstrap_servers=server.bootstrap) as producer:
        for number in range(SMALL_WARM + SMALL_BATCHES):
            producer.send(source, b"%d" % number)
    kafka = {"kafka.bootstrap.servers": server.bootstrap}
    with tempfile.TemporaryDirectory() as folder:
        reader = spark.readStream.format("moldau").options(**kafka, subscribe=source, startingOffsets="earliest")
        stream = reader.option("maxOffsetsPerTrigger", "1").load()
        writer = stream.select("key", "value").writeStream.format("moldau").options(**kafka, topic=target)
        query = writer.option("checkpointLocation", str(Path(folder, "checkpoint"))).start()
        try:
            took_ms = _batches_ms(query)
        finally:
            query.stop()
    return statistics.median(took_ms[SMALL_WARM:])


def _batches_ms(query: StreamingQuery) -> list[float]:
    deadline_s = time.monotonic() + BATCHES_S_MAX
    while True:
        assert query.isActive, query.exception()
        assert time.monotonic() < deadline_s, "not all batches came"
        done = [each for each in query.recentProgress if each.numInputRows]
        if len(done) >= SMALL_WARM + SMALL_BATCHES:
            assert all(each.numInputRows == 1 for each in done)
            return [float(each.durationMs["triggerExecution"]) for each in done]
        time.sleep(0.5)


def rows() -> list[Row]:
    with MoldauServer() as server:
        spark = jvm_session(LOCAL_CHECKPOINT)
        try:
            found = rates(spark, server)
            smallest_ms = smallest_batch_ms(spark, server)
        finally:
            spark.stop()
    against = "Spark's connector"
    theirs = found[THEIRS]
    return [
        Row("Spark write, exactly once", found[EXACTLY_ONCE], theirs, "rows/s", against, "≥1.0"),
        Row("Spark write, at least once", found[AT_LEAST_ONCE], theirs, "rows/s", against, "≥1.3"),
        Row("smallest batch, topic to topic", smallest_ms, BAR_MS, "ms", "the bar", "≤1.0"),
    ]
