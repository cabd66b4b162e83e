"""From a pipeline to DataFrames: tables are made in order, and each is a temporary view for the SQL behind it."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from moldau.clients.records import TopicPartition
from moldau.pipeline.jobs.definition import (
    GROUP,
    KAFKA_FORMATS,
    SESSION,
    Make,
    Pipeline,
    PipelineError,
    Sink,
    Source,
    Step,
)
from moldau.pipeline.jobs.failures import FAILURES, said, told_of
from moldau.pipeline.jobs.formats import decoded, encoded
from moldau.pipeline.jobs.python_file import MODULE_PREFIX
from moldau.pipeline.jobs.topics import partition_counts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EARLIEST: Final = -2

Position = Mapping[TopicPartition, int]


def table_of(pipeline: Pipeline, sink: Sink, spark: SparkSession, position: Position | None = None) -> DataFrame:
    """What goes into a sink, with tables of its own: each query reads for itself and commits for its own group.

    A sink with a state commits by itself, and says from which position on it has to be read.
    """
    ship_functions()
    needed = pipeline.needed_for(sink)
    tables: dict[str, DataFrame] = {}
    for source in pipeline.sources:
        if source.name in needed:
            placed = source if sink.state is None else placed_at(source, position or {})
            tables[source.name] = _viewed(source.name, read_source(placed, spark, pipeline.group_of(sink)))
    for step in pipeline.steps:
        if step.name in needed:
            tables[step.name] = _viewed(step.name, _made(step, tables, spark))
    return shaped(tables[sink.table], sink)


def placed_at(source: Source, position: Position) -> Source:
    """A source that begins at a position, which is kept elsewhere; partitions that it lacks from their first record."""
    if source.format not in KAFKA_FORMATS or not source.stream or source.function is not None:
        return source
    options = {**source.options, "commitOffsets": "false"}
    if position:
        topics = [name.strip() for name in options.get("subscribe", "").split(",") if name.strip()]
        starts: dict[str, dict[str, int]] = {}
        for topic, count in partition_counts(options, topics).items():
            at = {number: position.get(TopicPartition(topic, number), EARLIEST) for number in range(count)}
            starts[topic] = {str(number): offset for number, offset in at.items()}
        options = {name: value for name, value in options.items() if not name.lower().startswith("starting")}
        options["startingOffsets"] = json.dumps(starts)
    return replace(source, options=options)


def ship_functions() -> None:
    """Let executors have the functions of a pipeline file, which they cannot import."""
    for name, module in list(sys.modules.items()):
        if name.startswith(MODULE_PREFIX):
            cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # Spark's copy has no types


def read_source(source: Source, spark: SparkSession, group: str) -> DataFrame:
    """The table of a source."""
    place = f"source {source.name}"
    if source.function is not None:
        return _called(place, source.function, {SESSION: spark})
    options = dict(source.options)
    if source.format in KAFKA_FORMATS and source.stream and not _has_group(options):
        options[GROUP] = group
    reader = spark.readStream if source.stream else spark.read
    reader = reader.format(source.format).options(**options)
    if source.schema is not None:
        reader = reader.schema(source.schema)
    with told_of(place):
        table = reader.load()
        for name, encoding in (("key", source.key), ("value", source.value)):
            if encoding is not None:
                table = table.withColumn(name, decoded(f.col(name), encoding, f"{place} {name}"))
        if source.watermark is not None:
            table = table.withWatermark(source.watermark.column, source.watermark.delay)
        return table.select("*")


def shaped(table: DataFrame, sink: Sink) -> DataFrame:
    """A table with the columns that its sink writes."""
    place = f"sink {sink.name}"
    with told_of(place):
        if sink.value is not None:
            kept = [each for each in table.columns if each.lower() in ("topic", "headers", "partition", "timestamp")]
            key = [] if sink.key is not None or "key" not in table.columns else [f.col("key")]
            value = encoded(table, sink.value, place).alias("value")
            made = [] if sink.key is None else [f.expr(sink.key).alias("key")]
            return table.select(*[f.col(each) for each in kept], *made, *key, value)
        return table if sink.key is None else table.withColumn("key", f.expr(sink.key))


def _made(step: Step, tables: dict[str, DataFrame], spark: SparkSession) -> DataFrame:
    place = f"step {step.name}"
    if step.function is not None:
        return _called(place, step.function, {name: spark if name == SESSION else tables[name] for name in step.inputs})
    assert step.sql is not None
    with told_of(place):
        return spark.sql(step.sql)


def _called(place: str, function: Make, arguments: dict[str, object]) -> DataFrame:
    try:
        taken = inspect.signature(function).parameters
        table = function(**{name: value for name, value in arguments.items() if name in taken})
    except FAILURES as error:
        raise PipelineError(f"{place}: {said(error)}") from error
    except PipelineError:
        raise
    except Exception as error:
        raise PipelineError(f"{place}: {type(error).__name__}: {error}") from error
    if not isinstance(table, DataFrame):
        raise PipelineError(f"{place}: its function returned {type(table).__name__}, but has to return a DataFrame")
    return table


def _viewed(name: str, table: DataFrame) -> DataFrame:
    table.createOrReplaceTempView(name)
    return table


def _has_group(options: dict[str, str]) -> bool:
    given = {name.lower() for name in options}
    return GROUP in given or "groupidprefix" in given
