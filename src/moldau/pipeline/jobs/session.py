"""A Spark session for pipelines: Java found, Python found, quiet, and with short batches.

The checkpoint's files decide how short a batch can be. On a local disk they are written by a manager that renames a
whole file into its place, without checksum files beside them, straight by the operating system's calls: a process
that is killed leaves the old state or the new one. Elsewhere Spark's own choice stays.
"""

from __future__ import annotations

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
    java = {JAVA_OPTIONS: f"{_logging(log_level, debug)} {settings.get(JAVA_OPTIONS, '')}".rstrip()}
    for setting, value in {**_worker_settings(master), **settings, **java}.items():
        builder = builder.config(setting, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel(log_level)
    log_stacks(debug)
    moldau.pipeline.register(session)
    return session


def log_stacks(wanted: bool) -> None:
    """Spark's Python writes errors to stderr, as JSON with Java's stack in it; the pipeline tells them in a line."""
    from pyspark.logger import PySparkLogger

    for name in _STACK_LOGGERS:
        # By Spark's function: a logger that this one has not made would fail with the fields that Spark gives it.
        PySparkLogger.getLogger(name).disabled = not wanted


def _worker_settings(master: str) -> dict[str, str]:
    """Where workers are sure to have this package, which executors elsewhere and another Python may lack."""
    is_ours = master.startswith("local") and os.environ.get("PYSPARK_PYTHON") == sys.executable
    return {"spark.python.daemon.module": "moldau.pipeline.jobs.worker_daemon"} if is_ours else {}


def _logging(log_level: str, debug: bool) -> str:
    """Options for Java: log from the first line on at the level that is wanted, which `setLogLevel` is too late for."""
    path = files("moldau.pipeline.jobs") / "log4j2.properties"
    failures = log_level if debug else "OFF"
    return (
        f"-Dlog4j2.configurationFile={path} -Dmoldau.log.level={log_level.lower()} "
        f"-Dmoldau.log.failures.level={failures.lower()}"
    )
