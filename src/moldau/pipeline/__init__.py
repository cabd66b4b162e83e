"""Data pipelines on Spark: topics in, DataFrames in between, topics or tables out.

Nouns, bottom-up:

    options       what a user gave with `.option(...)`, checked; errors name the option and its value
    link          Link: a process's connection to a cluster, kept between batches
    source/       `read` and `readStream` of `format("moldau")`
    sink/         `write` and `writeStream` of it
    datasource    MoldauDataSource: what Spark is told
    worker_environment   what Spark adds to it, added beforehand
    jobs/         pipelines for people, and ready ones

Invariants: no record is a Python object, columns are Arrow's from the wire to Spark and back; what a task needs is in
what Spark carries to it, and what a process keeps can be lost at any time; everything works with any Kafka.
May import: `clients`, `records`, `protocol` and `base`, never the broker; pyspark and pyarrow. Importing this package
imports none of the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: SparkSession) -> None:
    """Make `format("moldau")` known to a session.

    Where the package `pyspark_moldau` can be imported, as after `pip install`, Spark finds it by itself. Who starts
    several queries at the same time should call this nevertheless: see `worker_environment`.
    """
    from moldau.pipeline.datasource import MoldauDataSource
    from moldau.pipeline.worker_environment import complete_environment

    with complete_environment(spark):
        spark.dataSource.register(MoldauDataSource)
