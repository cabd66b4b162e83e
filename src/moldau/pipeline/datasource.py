"""`format("moldau")`: what Spark is told of it.

Parameter names are Spark's, which calls by keyword. What reads and what writes is imported when it is asked for: a
process that plans a write does not pay for the source.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource

from moldau.pipeline.options import OptionError, Options

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType


class MoldauDataSource(DataSource):
    """Topics of a Kafka cluster as a table or a stream, with the options of Spark's own Kafka connector."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._options = Options(dict(options))

    @classmethod
    def name(cls) -> str:
        return "moldau"

    def schema(self) -> StructType:
        """Called when a reader is loaded, so this is where wrong options are found first."""
        from moldau.pipeline.source import source_schema

        return source_schema(self._options)

    def reader(self, schema: StructType) -> DataSourceReader:
        from moldau.pipeline.source import batch_reader

        return batch_reader(self._options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        from moldau.pipeline.source import stream_reader

        return stream_reader(self._options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        if overwrite:
            raise OptionError('mode("overwrite") cannot be done: a topic is only appended to; say mode("append")')
        made: DataSourceWriter = _sink().batch_writer(self._options, schema)
        return made

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802, ARG002 - Spark's
        made: DataSourceStreamWriter = _sink().stream_writer(self._options, schema)
        return made


def _sink() -> Any:
    return import_module("moldau.pipeline.sink")
