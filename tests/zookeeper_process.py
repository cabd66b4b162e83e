"""Apache ZooKeeper as processes for tests, alone or as an ensemble of three, on ports that are free.

with zookeeper() as ensemble: ensemble.connect       # "127.0.0.1:40123"
with zookeeper(nodes=3) as ensemble: ensemble.kill(1); ensemble.restart(1)
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from moldau.base.errors import ConfigError
from moldau.cluster.zookeeper.server import server_command

START_S_MAX = 30
STOP_S_MAX = 10

_PROPERTIES = """dataDir={data}
clientPort={port}
clientPortAddress=127.0.0.1
maxClientCnxns=0
tickTime={tick_ms}
initLimit=20
syncLimit=10
maxSessionTimeout=60000
"""


def require_zookeeper() -> None:
    """Skip where a machine has no Java or PySpark; fail where that must not be."""
    try:
        server_command(Path())
    except ConfigError as error:
        pytest.fail(str(error)) if os.environ.get("CI") else pytest.skip(str(error))


class ZooKeeperEnsemble:
    """Nodes are counted from 0."""

    def __init__(self, folder: Path, nodes: int, tick_ms: int) -> None:
        self.folder = folder
        ports = _free_ports(3 * nodes)
        self.ports = ports[:nodes]
        peers = "".join(
            f"server.{node}=127.0.0.1:{ports[nodes + node]}:{ports[2 * nodes + node]}\n" for node in range(nodes)
        )
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        for node, port in enumerate(self.ports):
            data = folder / str(node)
            data.mkdir()
            (data / "myid").write_text(str(node))
            content = _PROPERTIES.format(data=data, port=port, tick_ms=tick_ms)
            (folder / f"{node}.properties").write_text(content + (peers if nodes > 1 else ""))

    @property
    def connect(self) -> str:
        """As in `zookeeper.connect`, without a chroot."""
        return ",".join(f"127.0.0.1:{port}" for port in self.ports)

    def start(self, *nodes: int) -> None:
        """Start these nodes, and return when each of them serves clients."""
        for node in nodes:
            command = server_command(self.folder / f"{node}.properties")
            with (self.folder / f"{node}.out").open("ab") as output:
                self._processes[node] = subprocess.Popen(command, stdout=output, stderr=output)
        self.wait_until_serving(*nodes)

    def wait_until_serving(self, *nodes: int) -> None:
        deadline = time.monotonic() + START_S_MAX
        for node in nodes:
            while self.mode(node) is None:
                assert self._processes[node].poll() is None, (self.folder / f"{node}.out").read_text()
                assert time.monotonic() < deadline, f"node {node} of ZooKeeper does not serve"
                time.sleep(0.03)

    def kill(self, *nodes: int) -> None:
        for node in nodes:
            self._processes[node].kill()
        for node in nodes:
            self._processes[node].wait(STOP_S_MAX)

    def stop(self, *nodes: int) -> None:
        """As an operator does."""
        for node in nodes:
            self._processes[node].terminate()
        for node in nodes:
            self._processes[node].wait(STOP_S_MAX)

    def pause(self, node: int) -> None:
        self._processes[node].send_signal(signal.SIGSTOP)

    def resume(self, node: int) -> None:
        self._processes[node].send_signal(signal.SIGCONT)

    def mode(self, node: int) -> str | None:
        """`standalone`, `leader`, `follower`, or None if it does not serve."""
        try:
            with socket.create_connection(("127.0.0.1", self.ports[node]), timeout=2) as connection:
                connection.sendall(b"srvr")
                answer = b""
                while part := connection.recv(4096):
                    answer += part
        except OSError:
            return None
        lines = answer.decode().splitlines()
        return next((line.removeprefix("Mode: ") for line in lines if line.startswith("Mode: ")), None)

    def leader(self) -> int:
        return next(node for node in range(len(self.ports)) if self.mode(node) in ("leader", "standalone"))

    def close(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait(STOP_S_MAX)


@contextmanager
def zookeeper(nodes: int = 1, tick_ms: int = 500) -> Iterator[ZooKeeperEnsemble]:
    """An ensemble that serves; a session's timeout is at least two ticks."""
    require_zookeeper()
    folder = Path(tempfile.mkdtemp(prefix="moldau-zookeeper-"))
    ensemble = ZooKeeperEnsemble(folder, nodes, tick_ms)
    try:
        ensemble.start(*range(nodes))
        yield ensemble
    finally:
        ensemble.close()
        shutil.rmtree(folder, ignore_errors=True)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports: list[int] = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
