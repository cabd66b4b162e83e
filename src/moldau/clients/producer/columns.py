"""Arrow columns as batches, for data work: no Python object is made for any row.

Rows without key are dealt out to the partitions batch by batch; of rows with keys every different key is hashed, which
is the only thing here that Python does for each. The batches are encoded by `moldau.records.columns` and join the
queue of their partition behind what `send` has put there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from moldau.clients.producer.accumulator import AccumulatorLimits, TopicQueues
from moldau.clients.producer.batch import ProducerBatch
from moldau.clients.producer.futures import RecordFuture
from moldau.clients.producer.partitioners import partition_of_key
from moldau.clients.records import TopicPartition
from moldau.records.batch import HEADER_BYTES
from moldau.records.record import NO_TIMESTAMP

if TYPE_CHECKING:
    import pyarrow as pa

    from moldau.records.columns import HeadlessBatch


class RowsWritten(NamedTuple):
    """Rows that follow each other in a partition."""

    topic: str
    partition: int
    base_offset: int
    rows: int


class ColumnsFuture:
    """The fate of columns: of every batch that they became."""

    def __init__(self, batches: Sequence[ProducerBatch]) -> None:
        self._batches = batches

    def done(self) -> bool:
        return all(each.done for each in self._parts())

    def result(self, timeout: float | None = None) -> list[RowsWritten]:
        """Wait, at most `timeout` seconds for each batch, and say where the rows went; or raise why some did not."""
        for batch in self._batches:
            for place in range(0, batch.count, max(1, batch.count - 1)):
                RecordFuture(batch, place, NO_TIMESTAMP, -1, -1).result(timeout)
        return self._written()

    def __await__(self) -> Generator[Any, None, list[RowsWritten]]:
        for batch in self._batches:
            for place in range(0, batch.count, max(1, batch.count - 1)):
                yield from RecordFuture(batch, place, NO_TIMESTAMP, -1, -1).__await__()
        return self._written()

    def _parts(self) -> Iterator[ProducerBatch]:
        """The batches, those that were split in pieces."""
        waiting = [*reversed(self._batches)]
        while waiting:
            batch = waiting.pop()
            if batch.pieces:
                waiting += reversed(batch.pieces)
            else:
                yield batch

    def _written(self) -> list[RowsWritten]:
        return [RowsWritten(*each.topic_partition, each.base_offset, each.count) for each in self._parts()]


# Batches of `send` fill up to batch.size while they wait; rows that are all there fill a request at once.
COLUMN_BATCH_BYTES = 512 * 1024


def batches_of(
    columns: pa.Table | pa.RecordBatch,
    topic: TopicQueues,
    partition: int | None,
    limits: AccumulatorLimits,
    now_ms: int,
    monotonic_ms: Callable[[], float],
    request_bytes_max: int,
) -> Iterator[ProducerBatch]:
    """The rows as closed batches, each with its partition; without one the sticky partitions take turns.

    What is wrong with the columns is said at once. Batches are made as they are taken, so that the first are on their
    way while the others are made, and no more of them are there than there is memory for.
    """
    import pyarrow as pa

    from moldau.records.columns import headless_batches

    table = pa.Table.from_batches([columns]) if isinstance(columns, pa.RecordBatch) else columns
    bytes_max = min(max(limits.batch_bytes, COLUMN_BATCH_BYTES), request_bytes_max - HEADER_BYTES)
    if partition is None and "key" in table.schema.names and table["key"].null_count < table.num_rows:
        pieces = _by_key(table, len(topic.queues))
    else:
        pieces = [(partition, table)]
    codec, level = limits.compression_type, limits.compression_level
    encoded = [
        (number, headless_batches(piece, codec, level, timestamp_ms=now_ms, batch_bytes=bytes_max))
        for number, piece in pieces
    ]
    return _closed(encoded, topic.name, limits, monotonic_ms)


def _closed(
    encoded: Iterable[tuple[int | None, Iterable[HeadlessBatch]]],
    topic: str,
    limits: AccumulatorLimits,
    monotonic_ms: Callable[[], float],
) -> Iterator[ProducerBatch]:
    for partition, headless in encoded:
        to = TopicPartition(topic, -1 if partition is None else partition)
        for data, rows, base_timestamp, max_timestamp in headless:
            batch = ProducerBatch(
                to,
                limits.batch_bytes,
                monotonic_ms(),
                limits.compression_type,
                limits.compression_level,
                awaitable=limits.awaitable,
            )
            batch.take_data(data, rows, base_timestamp, max_timestamp)
            yield batch


def _by_key(table: pa.Table, partitions: int) -> list[tuple[int | None, pa.Table]]:
    """The rows of each partition, in their order; rows without key come as a piece of their own."""
    import pyarrow as pa
    import pyarrow.compute as pc

    keys = table["key"].combine_chunks()
    distinct = keys.dictionary_encode()
    if isinstance(distinct, pa.ChunkedArray):
        distinct = distinct.combine_chunks()
    hashed = [
        partition_of_key(key if isinstance(key, bytes) else key.encode(), partitions)
        for key in distinct.dictionary.to_pylist()
    ]
    chosen = pa.array(hashed, pa.int32()).take(distinct.indices)
    pieces: list[tuple[int | None, pa.Table]] = [
        (number, table.filter(pc.equal(chosen, number))) for number in sorted(set(hashed))
    ]
    keyless = table.filter(pc.is_null(chosen))
    if keyless.num_rows:
        pieces.append((None, keyless))
    return pieces
