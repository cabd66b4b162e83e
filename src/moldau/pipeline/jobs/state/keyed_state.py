"""What a batch does with the state: SQL over the new records and the old state gives the rows that change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from moldau.clients.records import TopicPartition
from moldau.pipeline.jobs.definition import PipelineError, State
from moldau.pipeline.jobs.failures import told_of
from moldau.pipeline.jobs.state.changelog import Changelog, Offsets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATE: Final = "state"
INPUT: Final = "input"
_NEEDED: Final = ("topic", "partition", "offset")


class KeyedState:
    """`deliver` is what a stream calls with each batch."""

    def __init__(self, name: str, definition: State, changelog: Changelog, spark: SparkSession) -> None:
        self._name = name
        self._definition = definition
        self._changelog = changelog
        self._schema = schema_of(spark, definition, name)
        self.position: Offsets = changelog.take_over()
        self._state: DataFrame | None = None

    def deliver(self, batch: DataFrame, _batch_id: int) -> None:
        """Take a batch in; what was counted before a restart is left out."""
        if self._state is None:
            # Not earlier: a query has a session of its own, and views of another one are not seen there.
            self._state = self._restored(batch.sparkSession)
        rows = self._new_rows(batch).persist()
        try:
            ends = rows.groupBy("topic", "partition").agg(f.max("offset").alias("last")).collect()
            if ends:
                position = {TopicPartition(each["topic"], each["partition"]): each["last"] + 1 for each in ends}
                self._state = self._take_in(rows, self._state, position)
        finally:
            rows.unpersist()

    def _new_rows(self, batch: DataFrame) -> DataFrame:
        """Without records before the position: those of a batch that Spark does again, or of an older checkpoint."""
        seen = f.lit(False)
        for (topic, partition), offset in self.position.items():
            seen = seen | ((f.col("topic") == topic) & (f.col("partition") == partition) & (f.col("offset") < offset))
        return batch.where(~seen)

    def _take_in(self, rows: DataFrame, state: DataFrame, position: Offsets) -> DataFrame:
        """The state that follows; it is written before it counts."""
        changed = changes_of(rows, state, self._definition, self._name).persist()
        try:
            self._changelog.write(self._records(changed), position)
            key = self._definition.key
            rest = state.join(changed.select(key), key, "left_anti").select(state.columns)
            following = rest.unionByName(changed.where(~self._is_gone(changed))).localCheckpoint()
        finally:
            changed.unpersist()
        self.position |= position
        return following

    def _records(self, changed: DataFrame) -> Iterator[tuple[bytes, bytes | None]]:
        """Rows as records; a key that comes twice would have two states."""
        key = self._definition.key
        value = f.to_json(f.struct(*self._values(changed)), {"ignoreNullFields": "false"})
        pairs = changed.select(
            f.col(key).cast("string").cast("binary").alias("key"),
            f.when(~self._is_gone(changed), value.cast("binary")).alias("value"),
        )
        seen: set[bytes] = set()
        for row in pairs.toLocalIterator():
            if row["key"] is None:
                raise PipelineError(f"sink {self._name}: the SQL gave a row without {key}; every row needs one")
            written = bytes(row["key"])
            if written in seen:
                raise PipelineError(
                    f"sink {self._name}: the SQL gave two rows for {key} {written.decode()!r}; group by {key}"
                )
            seen.add(written)
            yield written, None if row["value"] is None else bytes(row["value"])

    def _is_gone(self, table: DataFrame) -> Column:
        """A row with nothing but its key is a deletion."""
        gone = f.lit(True)
        for value in self._values(table):
            gone = gone & value.isNull()
        return gone

    def _values(self, table: DataFrame) -> list[Column]:
        return [f.col(name) for name in table.columns if name != self._definition.key]

    def _restored(self, spark: SparkSession) -> DataFrame:
        found = self._changelog.restore(spark)
        key = self._definition.key
        values = StructType([each for each in self._schema.fields if each.name != key])
        parsed = found.select(
            f.col("key").cast("string").cast(self._schema[key].dataType).alias(key),
            f.from_json(f.col("value").cast("string"), values).alias("value"),
        )
        return parsed.select(key, "value.*").select(self._schema.names).localCheckpoint()


def schema_of(spark: SparkSession, definition: State, name: str) -> StructType:
    """The columns of a state."""
    with told_of(f"sink {name}: schema {definition.schema!r}"):
        schema = spark.createDataFrame([], definition.schema).schema
    if definition.key not in schema.names or len(schema.names) < 2:
        raise PipelineError(
            f"sink {name}: schema has {', '.join(schema.names)}; it needs the key {definition.key!r} and another column"
        )
    return schema


def changes_of(rows: DataFrame, state: DataFrame, definition: State, name: str) -> DataFrame:
    """The rows that change, in the columns of the state."""
    session = rows.sparkSession
    rows.createOrReplaceTempView(INPUT)
    state.createOrReplaceTempView(STATE)
    with told_of(f"sink {name}"):
        changed = session.sql(definition.sql)
    if sorted(changed.columns) != sorted(state.columns):
        raise PipelineError(
            f"sink {name}: the SQL gives {', '.join(changed.columns)}, but the state has {', '.join(state.columns)}"
        )
    return changed.select(*[f.col(each.name).cast(each.dataType).alias(each.name) for each in state.schema.fields])


def check_state(table: DataFrame, definition: State, name: str) -> None:
    """Refuse SQL that cannot be, on a table and a state without rows."""
    for column in _NEEDED:
        if column not in table.columns:
            raise PipelineError(f"sink {name}: a state is made of records, with a column {column}; name a source")
    spark = table.sparkSession
    empty = spark.createDataFrame([], table.schema)
    changes_of(empty, spark.createDataFrame([], schema_of(spark, definition, name)), definition, name)
