"""A query from a topic to another; and as a program of its own, to be killed: `python -m tests.spark.sink.copying`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from moldau.pipeline import register
from tests.spark.sink.stopping import FORMAT, StoppingDataSource

ROOT = Path(__file__).parent.parent.parent.parent
RUN_S_MAX = 300.0


@dataclass(frozen=True)
class Copy:
    """What is copied, and where the query keeps its checkpoint."""

    servers: str
    source: str
    target: str
    folder: str
    rows_per_batch: int

    @property
    def batches(self) -> int:
        """How many have been planned."""
        offsets = Path(self.folder, "checkpoint", "offsets")
        return len([each for each in offsets.glob("*") if each.name.isdigit()]) if offsets.exists() else 0

    def run(self, spark: SparkSession, stop_at: str = "", group: int = 0) -> None:
        """Copy what is there now, unless a step is named at which to die."""
        kafka = {"kafka.bootstrap.servers": self.servers}
        source = spark.readStream.format("moldau").options(**kafka, subscribe=self.source)
        rows = source.options(startingOffsets="earliest", maxOffsetsPerTrigger=str(self.rows_per_batch)).load()
        options = {"topic": self.target, "checkpointLocation": str(Path(self.folder, "checkpoint"))}
        stops = {"stopAt": stop_at, "stopFile": str(Path(self.folder, f"stopped {stop_at}")), "stopGroup": str(group)}
        writer = rows.select("key", "value").writeStream.format(FORMAT).options(**kafka, **options, **stops)
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        finally:
            query.stop()


class CopyProcess:
    """A driver of its own: JVM and Python in a process group, which is killed as one."""

    def __init__(self, copy: Copy, stop_at: str = "") -> None:
        self._copy = copy
        self.log = Path(copy.folder, "driver.log")
        arguments = json.dumps({**asdict(copy), "stop_at": stop_at})
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.sink.copying", arguments],
                cwd=ROOT,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_for_batches(self, count: int) -> bool:
        """Until so many are planned; False if it ended before."""
        deadline = time.monotonic() + RUN_S_MAX
        while self._copy.batches < count:
            if self._process.poll() is not None:
                return False
            assert time.monotonic() < deadline, self.log.read_text()[-4000:]
            time.sleep(0.01)
        return True

    def wait(self) -> int:
        return self._process.wait(RUN_S_MAX)

    def kill(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(RUN_S_MAX)


def session() -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for name, value in {
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": "/tmp",
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main() -> None:
    arguments = json.loads(sys.argv[1])
    stop_at = arguments.pop("stop_at")
    spark = session()
    register(spark)
    spark.dataSource.register(StoppingDataSource)
    Copy(**arguments).run(spark, stop_at, os.getpgid(0))
    spark.stop()


if __name__ == "__main__":
    main()
