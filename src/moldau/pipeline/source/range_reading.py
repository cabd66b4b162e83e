"""What a task does: read a range of offsets to its end, the next fetch under way while the last is decoded.

Memory is bounded by two fetches and what is decoded of one, whatever the length of the range.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final

from moldau.clients.consumer.fetching.completed_fetch import CompletedFetch
from moldau.clients.errors import TimedOut
from moldau.pipeline.link import Link
from moldau.pipeline.source.data_loss import report_data_loss
from moldau.pipeline.source.fetching import Gone, OutOfRange, PartitionFetcher
from moldau.pipeline.source.offset_finder import OffsetFinder
from moldau.pipeline.source.ranges import OffsetRange
from moldau.pipeline.source.source_options import SourceOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from moldau.pipeline.source.columns import SparkColumns

# More at once than a consumer asks for: a task has one partition, and wants all of it.
FETCH_BYTES: Final = 4 << 20
# So much is asked for even if the rest of a range is shorter.
FETCH_BYTES_MIN: Final = 64 << 10
# What a record is taken to have until some have been seen.
RECORD_BYTES: Final = 1 << 10
# What a fetch may take longer than its own limit.
_LATE_S: Final = 60.0


class RangeReader:
    """Reads one range, once."""

    def __init__(self, link: Link, of: OffsetRange, options: SourceOptions) -> None:
        config = link.cluster.config
        self._link = link
        self._of = of
        self._options = options
        self._fetcher = PartitionFetcher(link.cluster, of.of, options.poll_timeout_ms)
        self._bytes_max = FETCH_BYTES
        if "max.partition.fetch.bytes" in config.explicit:
            self._bytes_max = config.integer("max.partition.fetch.bytes")
        self._bytes_per_offset = float(RECORD_BYTES)
        self._pending: Future[CompletedFetch] | None = None

    def read(self, columns: SparkColumns) -> Iterator[pa.RecordBatch]:
        """The rows of the range; who stops in the middle leaves nothing behind."""
        position = self._of.start
        try:
            while position < self._of.end:
                try:
                    fetch = self._take(position)
                except (OutOfRange, Gone) as error:
                    position = self._after_loss(position, error)
                    continue
                self._learn_size(fetch, position)
                position = fetch.end_offset
                if position < self._of.end:
                    self._ask(position)
                yield from columns.batches(fetch)
        finally:
            if self._pending is not None:
                self._pending.cancel()

    def _ask(self, position: int) -> Future[CompletedFetch]:
        """Ask for what is left, but not for much more: other records are another task's, or the next batch's."""
        left = int((self._of.end - position) * self._bytes_per_offset)
        size_bytes = min(self._bytes_max, max(FETCH_BYTES_MIN, left))
        self._pending = self._link.start(self._fetcher.fetch(position, size_bytes))
        return self._pending

    def _take(self, position: int) -> CompletedFetch:
        pending = self._pending or self._ask(position)
        timeout_s = self._options.poll_timeout_ms / 1000 + _LATE_S
        try:
            fetch = pending.result(timeout_s)
        except TimeoutError:
            raise TimedOut(f"no answer about {self._of} within {timeout_s:g} s") from None
        finally:
            self._pending = None
        return fetch

    def _learn_size(self, fetch: CompletedFetch, position: int) -> None:
        offsets = max(1, fetch.end_offset - position)
        self._bytes_per_offset = max(1.0, 1.25 * fetch.size_bytes / offsets)

    def _after_loss(self, position: int, error: OutOfRange | Gone) -> int:
        """Where to go on without what is lost; what there is, is named."""
        options = self._options
        if isinstance(error, Gone):
            report_data_loss(f"Cannot read {self._of}: {error}", fail=options.fail_on_data_loss)
            return self._of.end
        finder = OffsetFinder(self._link.cluster, options)
        begins = self._link.run(finder.earliest([self._of.of]))[self._of.of]
        ends = self._link.run(finder.latest([self._of.of]))[self._of.of]
        report_data_loss(
            f"Cannot read {self._of}: offset {position} is out of range, there are {begins} to {ends}",
            fail=options.fail_on_data_loss,
        )
        return begins if position < begins < self._of.end else self._of.end
