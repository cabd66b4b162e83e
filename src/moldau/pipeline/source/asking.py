"""How readers use a link: whatever goes wrong names the option that says where the cluster is."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from moldau.base.errors import Disconnected, MoldauError
from moldau.clients.errors import TimedOut
from moldau.pipeline.link import Link, link_to
from moldau.pipeline.options import SERVERS
from moldau.pipeline.source.range_reading import RangeReader
from moldau.pipeline.source.ranges import OffsetRange
from moldau.pipeline.source.source_options import SourceOptions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

Result = TypeVar("Result")


class ClusterUnavailable(MoldauError):
    """The text names kafka.bootstrap.servers, its value, and what failed last."""


def link_of(options: SourceOptions) -> Link:
    return link_to(options.settings)


def ask(options: SourceOptions, work: Coroutine[Any, Any, Result]) -> Result:
    """Do something in the link's loop."""
    try:
        return link_of(options).run(work)
    except (TimedOut, Disconnected) as error:
        raise unavailable(options, error) from error


def unavailable(options: SourceOptions, error: MoldauError) -> ClusterUnavailable:
    why = error.message if isinstance(error, TimedOut) else str(error)
    return ClusterUnavailable(
        f"Option '{SERVERS}' is '{options.servers}': the cluster does not answer: {why}. See whether its brokers run "
        "and can be reached from here"
    )


def read_range(of: OffsetRange, options: SourceOptions, schema: StructType) -> Iterator[pa.RecordBatch]:
    """What a task does with its partition."""
    from moldau.pipeline.source.columns import SparkColumns

    try:
        yield from RangeReader(link_of(options), of, options).read(SparkColumns(schema, of))
    except (TimedOut, Disconnected) as error:
        raise unavailable(options, error) from error
