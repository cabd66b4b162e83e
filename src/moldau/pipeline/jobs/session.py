"""A Spark session for pipelines: Java found, Python found, quiet, and with short batches.

The checkpoint's files decide how short a batch can be. On a local disk they are written by a manager that renames a
whole file into its place, without checksum files beside them, straight by the operating system's calls: a process
that is killed leaves the old state or the new one. Elsewhere Spark's own choice stays.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from moldau.base.java import find_java, java_home_for_spark, packaged_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL: Final = "local[*]"
LOG_LEVEL: Final = "ERROR"
JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_STREAMING: Final = "spark.sql.streaming."

ALWAYS: Final = {
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # The query of a pipeline ends when it is told to, and not in the middle of a batch by a hook of the JVM.
    f"{_STREAMING}stopTimeout": "60s",
}
LOCAL_CHECKPOINT: Final = {
    f"{_STREAMING}checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    f"{_STREAMING}checkpoint.fileChecksum.enabled": "false",
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
}
# Spark's Python writes every error to stderr, as JSON with the stack of Java in it; the pipeline tells it in a line.
_STACK_LOGGERS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
LOCAL_MASTER: Final = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def is_local_path(path: str) -> bool:
    return ":" not in path.split("/")[0] or path.startswith("file:")


def absolute(path: str) -> str:
    """A checkpoint by the name that it has from everywhere, since a sink is known by it."""
    return path if ":" in path else str(Path(path).absolute())


def settings_for(master: str, checkpoint: str, given: Mapping[str, str]) -> dict[str, str]:
    """All settings of the session; those given come first."""
    settings = dict(ALWAYS)
    if is_local_path(checkpoint):
        settings |= LOCAL_CHECKPOINT
    if master.startswith("local"):
        settings |= LOCAL_MASTER
        settings["spark.sql.shuffle.partitions"] = str(max(2, os.cpu_count() or 2))
    return settings | dict(given)


def find_java_for_spark() -> None:
    """Set `JAVA_HOME` if Spark's launcher would not find the Java that we find."""
    java = find_java("Spark")
    if java == packaged_java():
        folder = Path(tempfile.gettempdir()) / f"moldau-java-{os.getuid()}"
        os.environ["JAVA_HOME"] = str(java_home_for_spark(java, folder))


def start_session(
    name: str, master: str, settings: Mapping[str, str], log_level: str = LOG_LEVEL, *, debug: bool = False
) -> SparkSession:
    """The session; one that runs in this process already is taken as it is. `debug` logs failures with their stacks."""
    find_java_for_spark()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    import moldau.pipeline

    builder = SparkSession.builder.appName(name).master(master)
    given = settings.get(JAVA_OPTIONS, "")
    for setting, value in {**settings, JAVA_OPTIONS: f"{_logging(log_level, debug)} {given}".rstrip()}.items():
        builder = builder.config(setting, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel(log_level)
    for logger in _STACK_LOGGERS:
        logging.getLogger(logger).disabled = not debug
    moldau.pipeline.register(session)
    return session


def _logging(log_level: str, debug: bool) -> str:
    """Options for Java: log from the first line on at the level that is wanted, which `setLogLevel` is too late for."""
    path = files("moldau.pipeline.jobs") / "log4j2.properties"
    failures = log_level if debug else "OFF"
    return (
        f"-Dlog4j2.configurationFile={path} -Dmoldau.log.level={log_level.lower()} "
        f"-Dmoldau.log.failures.level={failures.lower()}"
    )
