"""The sink's writers as Spark calls them, without Spark: for what does not need a JVM to be tried."""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from moldau import Consumer, TopicPartition
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.pipeline.datasource import MoldauDataSource
from moldau.pipeline.sink.driver_side import DriverSide
from moldau.pipeline.sink.settings import SinkSettings
from moldau.pipeline.sink.task_attempt import write_attempt
from moldau.pipeline.sink.values import Plan, Written

Columns = Mapping[str, Any]

SETTLED_S_MAX = 20.0


def write(servers: str, *tasks: Columns, **options: str) -> int:
    """A batch write with these rows in its tasks; how many there were."""
    batches = [pa.RecordBatch.from_pydict(dict(rows)) for rows in tasks]
    made = MoldauDataSource({"kafka.bootstrap.servers": servers, **options})
    writer = made.writer(from_arrow_schema(batches[0].schema), False)
    messages: list[Any] = [None] * len(batches)
    try:
        for index, batch in enumerate(batches):
            task = pickle.loads(pickle.dumps(writer))
            messages[index] = pickle.loads(pickle.dumps(task.write(iter([batch]))))
        writer.commit(messages)
    except BaseException:
        writer.abort(messages)
        raise
    return sum(each.rows for each in messages)


class Driver:
    """A query's driver, batch by batch: its planner and its commit share a process here."""

    def __init__(self, settings: SinkSettings, query_id: str = "query") -> None:
        self.side = DriverSide(settings)
        self._settings = settings
        self._query_id = query_id
        self.timeout_ms = 0

    def plan(self) -> Plan:
        made, self.timeout_ms = self.side.plan()
        return made

    def attempt(self, plan: Plan, batch_id: int, values: Sequence[str]) -> Written:
        rows = pa.RecordBatch.from_pydict({"value": pa.array(values, pa.string())})
        return write_attempt(self._settings, plan, self.timeout_ms, iter([rows]), self._query_id, batch_id)

    def commit(self, written: Sequence[Written], batch_id: int) -> None:
        self.side.commit(written, batch_id, self.timeout_ms)

    def batch(self, batch_id: int, *tasks: Sequence[str]) -> list[Written]:
        """A whole batch, with one attempt of each task."""
        plan = self.plan()
        written = [self.attempt(plan, batch_id, values) for values in tasks]
        self.commit(written, batch_id)
        return written


def records_of(servers: str, topic: str, isolation_level: str = "read_committed") -> list[ConsumerRecord]:
    """The records of a topic, partition by partition, as soon as no transaction is being ended there."""
    wait_until_settled(servers, topic)
    found: list[ConsumerRecord] = []
    with Consumer(bootstrap_servers=servers, isolation_level=isolation_level) as consumer:
        for here in _partitions(consumer, topic):
            consumer.assign([here])
            consumer.seek_to_beginning([here])
            end = consumer.end_offsets([here])[here]
            while consumer.position(here) < end:
                found += consumer.poll(1.0)
    return found


def wait_until_settled(servers: str, topic: str) -> None:
    """A transaction is committed when its coordinator says so; its markers come a moment later."""
    with (
        Consumer(bootstrap_servers=servers, isolation_level="read_committed") as stable,
        Consumer(bootstrap_servers=servers) as latest,
    ):
        partitions = _partitions(stable, topic)
        deadline = time.monotonic() + SETTLED_S_MAX
        while stable.end_offsets(partitions) != latest.end_offsets(partitions):
            assert time.monotonic() < deadline, f"a transaction is open in {topic}"
            time.sleep(0.01)


def _partitions(consumer: Consumer, topic: str) -> list[TopicPartition]:
    return [TopicPartition(topic, each.partition) for each in consumer.partitions_for(topic)]


def values_of(servers: str, topic: str) -> list[str]:
    """The committed values of a topic, sorted."""
    return sorted((each.value or b"").decode() for each in records_of(servers, topic))
