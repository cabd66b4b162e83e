"""What can be known to be wrong before anything starts: topics, SQL, columns, output modes.

Spark analyses SQL when a table is made, and so names of columns and types are known; nothing is read or written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from moldau.pipeline.jobs.definition import KAFKA_FORMATS, Pipeline, PipelineError, Sink
from moldau.pipeline.jobs.failures import told_of
from moldau.pipeline.jobs.plan import table_of
from moldau.pipeline.jobs.state.keyed_state import check_state
from moldau.pipeline.jobs.topics import check_topics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The columns of a record and the types that they may have, as Spark's own connector takes them.
_RECORD: Final = {
    "topic": ("string",),
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "headers": ("array<struct<key:string,value:binary>>",),
    "partition": ("int",),
    "timestamp": ("timestamp",),
}


def check_all(pipeline: Pipeline, spark: SparkSession) -> dict[str, DataFrame]:
    """The table of each sink, if everything is right."""
    check_topics(pipeline)
    tables = {}
    for sink in pipeline.sinks:
        table = table_of(pipeline, sink, spark)
        if sink.state is not None:
            check_state(table, sink.state, sink.name)
        else:
            check_columns(table, sink)
        if table.isStreaming:
            check_mode(table, sink, spark)
        tables[sink.name] = table
    return tables


def check_columns(table: DataFrame, sink: Sink) -> None:
    """Refuse a table that its sink cannot take."""
    types = {each.name.lower(): each.dataType.simpleString() for each in table.schema.fields}
    for name in sink.partition_by:
        if name.lower() not in types:
            raise PipelineError(f"sink {sink.name}: partition_by {name!r} is no column; there are {', '.join(types)}")
    if sink.format not in KAFKA_FORMATS:
        return
    listed = ", ".join(f"{name} {kind}" for name, kind in types.items())
    if "value" not in types:
        raise PipelineError(
            f"sink {sink.name}: a record needs a column value, but the table has: {listed}. "
            'Write value = "json" to put all of them into one'
        )
    for name, kind in types.items():
        if name not in _RECORD:
            raise PipelineError(
                f"sink {sink.name}: a record has no {name!r}, only {', '.join(_RECORD)}; leave it out with SELECT, or "
                'write value = "json" to put it into the value'
            )
        if kind not in _RECORD[name]:
            raise PipelineError(
                f"sink {sink.name}: the column {name} is {kind}, but has to be {' or '.join(_RECORD[name])}"
            )
    if "topic" not in types and "topic" not in {name.lower() for name in sink.options}:
        raise PipelineError(f"sink {sink.name} lacks topic: write topic = …, or make a column topic")


def check_mode(table: DataFrame, sink: Sink, spark: SparkSession) -> None:
    """Refuse an output mode that the query cannot have, which Spark itself would tell when the query starts."""
    jvm = spark.sparkContext._jvm
    if jvm is None:  # a session of Spark Connect: it tells when the query starts
        return
    mode = getattr(jvm.org.apache.spark.sql.streaming.OutputMode, sink.mode.capitalize())()
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    with told_of(f"sink {sink.name}: mode {sink.mode!r} cannot be"):
        checker.checkForStreaming(table._jdf.queryExecution().analyzed(), mode)
