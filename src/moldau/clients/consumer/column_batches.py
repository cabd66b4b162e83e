"""Records as Arrow columns, without a Python object for any of them: for data work."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from moldau.base.errors import ConfigError
from moldau.clients.consumer.fetching.completed_fetch import CompletedFetch
from moldau.clients.consumer.fetching.decoding import columns_are_possible

if TYPE_CHECKING:
    import pyarrow as pa

    from moldau.records.columns.batches import Batches


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
    from moldau.records.columns.decode import record_columns

    first_offset = fetch.next_offset
    columns = record_columns(_rest(fetch))
    if columns.num_rows and columns["offset"][0].as_py() < first_offset:
        columns = columns.slice(_rows_before(columns, first_offset))
    if not columns.num_rows:
        return None
    topic, partition = fetch.partition
    return ColumnBatch(topic, partition, columns)


def _rest(fetch: CompletedFetch) -> Batches:
    """What of a fetch is whole and not hidden: at once if that is all of it, which is usual, or batch by batch."""
    from moldau.records.columns.batches import Batches

    pieces = fetch.pieces()
    if pieces is not None:
        batches = Batches.between(*pieces)
        if batches.are_whole(check_crcs=fetch.check_crcs):
            fetch.pass_rest(int(batches.headers["leader_epoch"][-1]))
            return batches
    return Batches.of(fetch.take_rest())


def _rows_before(columns: pa.RecordBatch, offset: int) -> int:
    import numpy as np

    return int(np.searchsorted(columns["offset"].to_numpy(), offset))
