"""Pipelines in the tests' own session: written as text, run to their end, with what they said."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from moldau import Consumer, Producer, TopicPartition
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.pipeline.jobs.definition import Pipeline
from moldau.pipeline.jobs.progress import Report
from moldau.pipeline.jobs.running import Run
from moldau.pipeline.jobs.toml_file import read_toml


@dataclass(slots=True)
class Said:
    """A screen for tests."""

    lines: list[str] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)

    def show(self, reports: Sequence[Report]) -> None:
        self.reports += reports

    def say(self, text: str) -> None:
        self.lines.append(text)

    def close(self) -> None:
        self.lines.append("closed")


def written(folder: Path, text: str, **given: str) -> Pipeline:
    """A pipeline from the text of a TOML file."""
    path = folder / "pipeline.toml"
    path.write_text(text)
    return read_toml(path, given)


def run_once(pipeline: Pipeline, spark: SparkSession, folder: Path) -> Said:
    """Run on what is there now; the checkpoint is in the folder."""
    said = Said()
    Run(pipeline, spark, str(folder / "checkpoint"), said, once=True).go()
    return said


def produce(servers: str, topic: str, values: Sequence[dict[str, Any]], key: str | None = None) -> None:
    """Values as JSON, with one of their fields as the key."""
    with Producer(bootstrap_servers=servers) as producer:
        for value in values:
            key_bytes = None if key is None else str(value[key]).encode()
            producer.send(topic, json.dumps(value).encode(), key=key_bytes)


def records_of(servers: str, topic: str) -> list[ConsumerRecord]:
    """All committed records of a topic, partition by partition."""
    found: list[ConsumerRecord] = []
    with Consumer(bootstrap_servers=servers, isolation_level="read_committed") as consumer:
        for each in consumer.partitions_for(topic):
            here = TopicPartition(topic, each.partition)
            consumer.assign([here])
            consumer.seek_to_beginning([here])
            end = consumer.end_offsets([here])[here]
            while consumer.position(here) < end:
                found += consumer.poll(1.0)
    return found


def values_of(servers: str, topic: str) -> list[Any]:
    """The committed values of a topic, out of JSON."""
    return [json.loads(each.value) for each in records_of(servers, topic)]
