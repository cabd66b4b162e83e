"""Reading topics: `spark.read` and `spark.readStream` of `format("moldau")`.

Nouns, bottom-up:

    schema            the columns of a record, in Spark's types
    offsets           offsets by partition, and their JSON
    subscription      which partitions are read
    bounds            where reading starts and ends, as options say it
    source_options    SourceOptions: all options, checked
    offset_finder     what the cluster says: partitions, beginnings, ends, times
    ranges            OffsetRange, and how ranges are shared out among tasks
    admission         how much of what is new a batch takes
    fetching          one partition from an offset on
    range_reading     what a task does: fetch ahead, decode, give Spark rows
    columns           fetched batches to Arrow, in the types that Spark wants
    filters           what a batch read need not look at
    group_offsets     the offsets that tools see
    batch_reading, stream_reading    what Spark calls

Invariants: a task reads the records between two offsets and no others, whatever the batches they are in; what it
keeps in memory does not grow with their number; what cannot be read is an error unless `failOnDataLoss` is false;
a query's place is Spark's checkpoint, and the group's offsets are only shown.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from moldau.pipeline.options import Options
from moldau.pipeline.source.schema import check_schema, schema_with
from moldau.pipeline.source.source_options import check_options, read_batch_options, read_stream_options

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader
    from pyspark.sql.types import StructType

# In the process that asks a reader for its filters, and only there; where Spark's setting is off it is not loaded.
_PUSHING: Final = "pyspark.sql.worker.data_source_pushdown_filters"


def source_schema(options: Options) -> StructType:
    return schema_with(check_options(options))


def batch_reader(options: Options, schema: StructType) -> DataSourceReader:
    from moldau.pipeline.source.batch_reading import BatchReader, PushingBatchReader

    check_schema(schema)
    return (PushingBatchReader if _PUSHING in sys.modules else BatchReader)(read_batch_options(options), schema)


def stream_reader(options: Options, schema: StructType) -> DataSourceStreamReader:
    from moldau.pipeline.source.stream_reading import StreamReader

    check_schema(schema)
    return StreamReader(read_stream_options(options), schema)
