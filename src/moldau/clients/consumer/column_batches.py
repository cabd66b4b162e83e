"""Records as Arrow columns, without a Python object for any of them: for data work."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from moldau.base.errors import ConfigError
from moldau.clients.consumer.fetching.completed_fetch import CompletedFetch
from moldau.clients.consumer.fetching.decoding import columns_are_possible

if TYPE_CHECKING:
    import pyarrow as pa


class ColumnBatch(NamedTuple):
    """Neighbouring records of one partition; the columns are those of `moldau.records.columns.SCHEMA`.

    Offset, timestamp (milliseconds), timestamp_type, key, value, headers. Keys and values are bytes: deserializers are
    for records.
    """

    topic: str
    partition: int
    columns: pa.RecordBatch


def column_batch(fetch: CompletedFetch) -> ColumnBatch | None:
    """All that is left of a fetch; None if none of it is shown."""
    if not columns_are_possible():
        raise ConfigError("poll_batches needs pyarrow and numpy: pip install pyarrow numpy")
    from moldau.records.columns import columns_from_batches

    first_offset = fetch.next_offset
    table = columns_from_batches(fetch.take_rest())
    if table.num_rows and table["offset"][0].as_py() < first_offset:
        table = table.slice(_rows_before(table, first_offset))
    if not table.num_rows:
        return None
    topic, partition = fetch.partition
    return ColumnBatch(topic, partition, table.combine_chunks().to_batches()[0])


def _rows_before(table: pa.Table, offset: int) -> int:
    import numpy as np

    return int(np.searchsorted(table["offset"].to_numpy(), offset))
