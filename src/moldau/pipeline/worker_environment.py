"""The variables that Spark gives to a data source's Python workers, all there before the first query starts.

Spark keeps them in a HashMap that belongs to the registered class. The reader of a stream adds four to it when its
query starts, and a task of another query may be serialized with the same map at that moment: its count and its entries
then differ, and that query ends with `java.io.OptionalDataException`. Where the names are there already, adding them
replaces values and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ADDED_BY_SPARK = ("SPARK_LOCAL_DIRS", "SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE", "SPARK_PYTHON_RUNTIME")


@contextmanager
def complete_environment(spark: SparkSession) -> Iterator[None]:
    """What is registered in this block has the names. With Spark Connect there is no context here to have them from."""
    context = getattr(spark, "_sc", None)
    if context is None:
        yield
        return
    missing = [name for name in ADDED_BY_SPARK if name not in context.environment]
    context.environment.update(dict.fromkeys(missing, ""))
    try:
        yield
    finally:
        for name in missing:
            del context.environment[name]
