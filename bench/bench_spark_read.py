"""Our Spark source against Spark's own Kafka connector: the same session, the same broker, the same topic, in turn.

A topic has 4 partitions with 2,000,000 records of 100 bytes; Spark runs as local[2]. A batch read ends in Spark's sink
that takes everything and keeps nothing; the columns are those that both have. A stream reads the topic from its
beginning with `availableNow`; its time is that of its batches as Spark reports it, and, in a row of its own, all of it
from `start` to the end. Both sides are run once before anything is measured. Rates are medians of runs in turn.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from bench.measure import Row
from bench.moldau_server import MoldauServer
from bench.spark_jvm import jvm_session
from moldau import Producer

PARTITIONS = 4
RECORDS = 2_000_000
VALUE_BYTES = 100
CHUNK = 100_000
REPETITIONS = 5
OURS, THEIRS = "moldau", "kafka"


def fill(bootstrap: str, topic: str) -> None:
    """The records, in columns, the same number in each partition."""
    with Producer(bootstrap_servers=bootstrap, linger_ms=5, batch_size=262_144) as producer:
        for chunk in range(RECORDS // CHUNK):
            numbers = range(chunk * CHUNK, (chunk + 1) * CHUNK)
            values = pa.array([b"%0*d" % (VALUE_BYTES, number) for number in numbers], pa.binary())
            producer.send_batch(topic, pa.table({"value": values}), chunk % PARTITIONS).result(60)


class Reads:
    """What is measured, for either connector by its name."""

    def __init__(self, spark: SparkSession, bootstrap: str, topic: str) -> None:
        self._spark = spark
        self._options = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, "startingOffsets": "earliest"}

    def batch(self, connector: str) -> float:
        """Rows a second."""
        started_s = time.perf_counter()
        table = self._spark.read.format(connector).options(**self._options).load()
        table.write.format("noop").mode("overwrite").save()
        return RECORDS / (time.perf_counter() - started_s)

    def counted(self, connector: str) -> float:
        started_s = time.perf_counter()
        table = self._spark.read.format(connector).options(**self._options).load()
        assert table.selectExpr("count(value)").first()[0] == RECORDS  # type: ignore[index]  # an aggregate has a row
        return RECORDS / (time.perf_counter() - started_s)

    def stream(self, connector: str) -> tuple[float, float]:
        """Rows a second in the batches, and from start to end."""
        stream = self._spark.readStream.format(connector).options(**self._options).load()
        with tempfile.TemporaryDirectory() as folder:
            started_s = time.perf_counter()
            writer = stream.writeStream.format("noop").trigger(availableNow=True)
            query = writer.option("checkpointLocation", str(Path(folder) / "checkpoint")).start()
            query.awaitTermination()
            took_s = time.perf_counter() - started_s
            progress = [each for each in query.recentProgress if each.numInputRows]
        assert sum(each.numInputRows for each in progress) == RECORDS
        batches_s = sum(each.durationMs["triggerExecution"] for each in progress) / 1000
        return RECORDS / batches_s, RECORDS / took_s


def in_turn(read: Callable[[str], tuple[float, ...]]) -> tuple[list[float], list[float]]:
    """Medians of our figures and of theirs; the first run of each is not counted."""
    samples: dict[str, list[tuple[float, ...]]] = {OURS: [], THEIRS: []}
    for _ in range(1 + REPETITIONS):
        for connector, its_samples in samples.items():
            its_samples.append(read(connector))
    ours, theirs = (
        [statistics.median(each) for each in zip(*its[1:], strict=True)] for its in (samples[OURS], samples[THEIRS])
    )
    return ours, theirs


def rows() -> list[Row]:
    with MoldauServer() as server:
        topic = server.new_topic(PARTITIONS)
        fill(server.bootstrap, topic)
        spark = jvm_session()
        try:
            reads = Reads(spark, server.bootstrap, topic)
            batch = in_turn(lambda connector: (reads.batch(connector),))
            counted = in_turn(lambda connector: (reads.counted(connector),))
            stream = in_turn(reads.stream)
        finally:
            spark.stop()
    against = "Spark's connector"
    return [
        Row("Spark batch read, 100 B", batch[0][0], batch[1][0], "rows/s", against, "≥1.3"),
        Row("Spark batch read, count(value)", counted[0][0], counted[1][0], "rows/s", against, "≥1.3"),
        Row("Spark stream read, availableNow", stream[0][0], stream[1][0], "rows/s", against, "≥1.2"),
        Row("the same from start to end", stream[0][1], stream[1][1], "rows/s", against),
    ]
