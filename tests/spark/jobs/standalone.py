"""A standalone Spark cluster out of pip's pyspark: a master and workers, each a process with ports of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import pyspark

from tests.broker_process import free_port

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
START_S_MAX = 60.0
EXECUTOR = "CoarseGrainedExecutorBackend"


class StandaloneCluster:
    """`url` is for `--master`; what processes say is in `folder`."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self._folder = folder
        self._count = workers
        self._port = free_port()
        self._processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        try:
            self._start("master", "--host", "127.0.0.1", "--port", str(self._port), "--webui-port", str(free_port()))
            self._wait_for("master", "I have been elected leader")
            for number in range(self._count):
                self.start_worker(f"worker-{number}")
            for number in range(self._count):
                self._wait_for(f"worker-{number}", "Successfully registered with master")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start_worker(self, name: str) -> None:
        words = ["--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--webui-port", str(free_port())]
        self.workers.append(self._start(name, *words, "--work-dir", str(self._folder / name), self.url))

    def executors(self, worker: int) -> list[int]:
        """The process ids of a worker's executors."""
        shown = subprocess.run(
            ["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True, timeout=10
        )
        rows = [line.split(None, 2) for line in shown.stdout.splitlines()]
        return [int(row[0]) for row in rows if int(row[1]) == self.workers[worker].pid and EXECUTOR in row[2]]

    def kill_executor(self, worker: int) -> None:
        """kill -9 of what a worker has started; it starts another."""
        for process_id in self.executors(worker):
            os.kill(process_id, signal.SIGKILL)

    def kill_worker(self, worker: int) -> None:
        """kill -9 of a worker and its executors, as when a machine is gone."""
        executors = self.executors(worker)
        self.workers[worker].kill()
        for process_id in executors:
            os.kill(process_id, signal.SIGKILL)
        self.workers[worker].wait(START_S_MAX)

    def close(self) -> None:
        for process in reversed(self._processes):
            if process.poll() is None:
                process.terminate()
        for process in self._processes:
            try:
                process.wait(START_S_MAX)
            except subprocess.TimeoutExpired:
                process.kill()

    def _start(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        kind = "master.Master" if name == "master" else "worker.Worker"
        with (self._folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [str(SPARK_CLASS), f"org.apache.spark.deploy.{kind}", *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "SPARK_DAEMON_MEMORY": "256m", "PYSPARK_PYTHON": sys.executable},
            )
        self._processes.append(process)
        return process

    def _wait_for(self, name: str, words: str) -> None:
        log, ends = self._folder / f"{name}.log", time.monotonic() + START_S_MAX
        while words not in log.read_text():
            assert time.monotonic() < ends, log.read_text()[-2000:]
            time.sleep(0.1)
