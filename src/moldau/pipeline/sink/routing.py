"""Which rows go where: columns are cut into pieces, each for one topic and one partition.

A partition that the row names is taken; else the hash of its key decides, as with the Java client; rows with neither
stay together, and the sticky partition gets them. Rows of a partition keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from moldau.pipeline.sink.column_hash import partitions_of_keys
from moldau.pipeline.sink.errors import RowError
from moldau.records.columns.payload import as_binary

_ANY = -1
_COLUMNS = ("value", "key", "timestamp", "headers")


class Piece(NamedTuple):
    """Rows for one partition; None is any."""

    topic: str
    partition: int | None
    columns: pa.RecordBatch


def pieces(rows: pa.RecordBatch, topic: str | None, partition_count: Callable[[str], int]) -> Iterator[Piece]:
    """Cut rows up. `topic` goes before the column of that name."""
    for name, of_topic in _by_topic(rows, topic):
        columns = _record_columns(of_topic)
        partitions = _partitions(of_topic, name, partition_count)
        if partitions is None:
            yield Piece(name, None, columns)
            continue
        first = int(partitions[0])
        if (partitions == first).all():
            yield Piece(name, None if first == _ANY else first, columns)
            continue
        order = np.argsort(partitions, kind="stable")
        sorted_rows = columns.take(pa.array(order))
        numbers, starts = np.unique(partitions[order], return_index=True)
        ends = [*starts[1:].tolist(), len(order)]
        for number, start, end in zip(numbers.tolist(), starts.tolist(), ends, strict=True):
            yield Piece(name, None if number == _ANY else number, sorted_rows.slice(start, end - start))


def _by_topic(rows: pa.RecordBatch, topic: str | None) -> Iterator[tuple[str, pa.RecordBatch]]:
    if topic is not None:
        yield topic, rows
        return
    column = rows.column("topic")
    if column.null_count:
        raise RowError("null topic present in the data. Use the topic option for setting a default topic.")
    encoded = column.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    if len(names) == 1:
        yield names[0], rows
        return
    for index, name in enumerate(names):
        yield name, rows.filter(pc.equal(encoded.indices, index))


def _record_columns(rows: pa.RecordBatch) -> pa.RecordBatch:
    """What becomes part of records; columns without any value cost time and say nothing."""
    names = [
        name
        for name in _COLUMNS
        if name in rows.schema.names and (name == "value" or rows.column(name).null_count < rows.num_rows)
    ]
    return rows.select(names)


def _partitions(rows: pa.RecordBatch, topic: str, partition_count: Callable[[str], int]) -> NDArray[np.int64] | None:
    """The partition of each row, or -1; None if none of them has one."""
    names = rows.schema.names
    given = rows.column("partition") if "partition" in names else None
    if given is not None and given.null_count == rows.num_rows:
        given = None
    key = rows.column("key") if "key" in names else None
    if key is not None and (key.null_count == rows.num_rows or (given is not None and not given.null_count)):
        key = None
    if given is None and key is None:
        return None
    count = partition_count(topic)
    chosen = np.full(rows.num_rows, _ANY, np.int64)
    if key is not None:
        hashed = partitions_of_keys(as_binary(key), count)
        chosen = np.where(np.asarray(key.is_null()), _ANY, hashed) if key.null_count else hashed
    if given is not None:
        numbers = np.asarray(pc.fill_null(given, _ANY), np.int64)
        named = np.asarray(given.is_valid())
        wrong = named & ((numbers < 0) | (numbers >= count))
        if wrong.any():
            number = int(numbers[np.flatnonzero(wrong)[0]])
            raise RowError(f"a row names partition {number}, and topic {topic} has partitions 0 to {count - 1}")
        chosen = np.where(named, numbers, chosen)
    return chosen
