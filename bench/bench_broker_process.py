"""A broker as a process: started in a folder of its own, awaited, weighed, stopped, and never left behind.

It is started on a port that was free a moment ago, so that the time until it answers can be taken from outside, in the
same way for every broker: connect until it accepts, then ask for Metadata.
"""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import ClassVar

from bench.load.wire import Wire

FOLDERS = Path("build")  # under the current directory: the same disk for all
START_S_MAX = 60
STOP_S_MAX = 60
POLL_S = 0.001


class BrokerProcess:
    """One broker; a context in which it runs. What it says goes to a file that is shown when it fails."""

    name: ClassVar[str]
    warm_up_s: ClassVar[float]  # how long it is under load before anything is measured

    def __init__(self, *, started: bool = True) -> None:
        self._started = started
        FOLDERS.mkdir(exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix=f"bench-{self.name}-", dir=FOLDERS.resolve()))
        self.data = self.folder / "data"
        self.port = free_ports(1)[0]
        self.bootstrap = f"127.0.0.1:{self.port}"
        self._output = self.folder / "output"
        self._process: subprocess.Popen[bytes] | None = None
        self._topic_numbers = itertools.count(1)

    def prepare(self) -> None:
        """What has to be done once before the first start."""

    def command(self) -> list[str]:
        raise NotImplementedError

    def __enter__(self) -> BrokerProcess:
        try:
            self.prepare()
            if self._started:
                self.start()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None:
            print(f"{self.name} said at last:\n{self.said()}", flush=True)
        self._remove()

    def _remove(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(STOP_S_MAX)
        shutil.rmtree(self.folder)

    def start(self) -> float:
        """Start it; the seconds until it answered Metadata with itself in it."""
        return self.wait(self.spawn())

    def spawn(self) -> float:
        """Start it without waiting; when that was."""
        command = self.command()
        with self._output.open("ab") as output:
            started_s = time.perf_counter()
            self._process = subprocess.Popen(
                command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        return started_s

    def wait(self, started_s: float) -> float:
        """Until it answers; the seconds since it was started."""
        assert self._process is not None
        while not self._answers():
            took_s = time.perf_counter() - started_s
            if self._process.poll() is not None or took_s > START_S_MAX:
                raise RuntimeError(f"{self.name} does not answer after {took_s:.1f} s:\n{self.said()}")
            time.sleep(POLL_S)
        return time.perf_counter() - started_s

    def _answers(self) -> bool:
        try:
            with Wire(self.port) as wire:
                return bool(wire.metadata().brokers)
        except OSError:
            return False

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def stop(self) -> None:
        """As an operator does, and wait until it has."""
        assert self._process is not None
        self._process.terminate()
        self._process.wait(STOP_S_MAX)
        self._process = None

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait(STOP_S_MAX)
        self._process = None

    def resident_bytes(self) -> int:
        """The memory that the process and its children hold."""
        assert self._process is not None
        return sum(_resident_bytes(pid) for pid in _with_children(self._process.pid))

    def cpu_s(self) -> float:
        """The processor time that the process has used so far; it does not grow when others use the machine."""
        assert self._process is not None
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def new_topic(self, partitions: int = 1) -> str:
        """The name of a topic that has just been made."""
        name = f"bench-{next(self._topic_numbers)}"
        with Wire(self.port) as wire:
            wire.create_topics([name], partitions)
            wire.await_ready([name], partitions)
        return name

    def said(self) -> str:
        return self._output.read_text(errors="replace")[-4000:] if self._output.exists() else ""


def free_ports(count: int) -> list[int]:
    """Ports that nobody had a moment ago; all different."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _with_children(pid: int) -> list[int]:
    children = [int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in _words(task / "children")]
    return [pid, *(each for child in children for each in _with_children(child))]


def _words(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def _resident_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))
