"""Three brokers as processes on a real ZooKeeper, as users run them, with everything that can happen to them.

    with process_cluster() as cluster:
        cluster.kill(0); cluster.start(0)
        cluster.network.cut("broker-0", "broker-1"); cluster.network.heal()

Clients reach a broker directly, on its listener PLAINTEXT. Brokers reach each other, and ZooKeeper, by cables that can
be cut.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.broker_process import free_port
from tests.cluster.cuttable_network import Network
from tests.zookeeper_process import ZooKeeperEnsemble, zookeeper

START_S_MAX = 60.0
STOP_S_MAX = 60.0
SESSION_TIMEOUT_MS = 6_000
ZOOKEEPER = "zookeeper"
SETTINGS = {
    "zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "zookeeper.connection.timeout.ms": "30000",
    "min.insync.replicas": "2",
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.num.partitions": "5",
    "transaction.state.log.min.isr": "2",
    "group.initial.rebalance.delay.ms": "0",
    "log.index.size.max.bytes": "1048576",
    "controlled.shutdown.retry.backoff.ms": "500",
    "replica.lag.time.max.ms": "10000",
}


def name_of(broker_id: int) -> str:
    return f"broker-{broker_id}"


class ProcessCluster:
    """Brokers 0, 1, …; `settings` are those of all of them."""

    clean_exit_code = 0
    """Of a broker that was told to stop."""

    def __init__(
        self, folder: Path, ensemble: ZooKeeperEnsemble, settings: Mapping[str, str], brokers: int = 3, chroot: str = ""
    ) -> None:
        self.folder = folder
        self.ensemble = ensemble
        self.chroot = chroot
        self.network = Network()
        self.ids = range(brokers)
        self.ports = {broker_id: free_port() for broker_id in self.ids}
        self._between = {broker_id: free_port() for broker_id in self.ids}
        self._advertised = {
            broker_id: self.network.connect(name_of(broker_id), port) for broker_id, port in self._between.items()
        }
        self._zookeepers = {
            broker_id: ",".join(
                f"127.0.0.1:{self.network.connect(ZOOKEEPER, port, name_of(broker_id))}" for port in ensemble.ports
            )
            for broker_id in self.ids
        }
        self._settings = {**SETTINGS, **settings}
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    # -- what a cluster is asked

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    @property
    def running(self) -> list[int]:
        return sorted(each for each, process in self._processes.items() if process.poll() is None)

    def address(self, broker_id: int) -> str:
        return f"127.0.0.1:{self.ports[broker_id]}"

    def data_of(self, broker_id: int) -> Path:
        return self.folder / name_of(broker_id)

    def log_of(self, broker_id: int) -> str:
        """What a broker has said."""
        return self._log_path(broker_id).read_text(errors="replace")

    def pid(self, broker_id: int) -> int:
        return self._processes[broker_id].pid

    # -- what happens to it

    def start(self, *broker_ids: int) -> None:
        """Start brokers, all at once, and return when each says that it listens."""
        for broker_id in broker_ids:
            self._spawn(broker_id)
        for broker_id in broker_ids:
            self._wait_until_listening(broker_id)

    def kill(self, broker_id: int) -> None:
        """kill -9."""
        self._processes[broker_id].kill()
        self._end(broker_id)

    def stop(self, broker_id: int) -> int:
        """SIGTERM; its exit code."""
        self._processes[broker_id].terminate()
        return self._end(broker_id)

    def pause(self, broker_id: int) -> None:
        self._processes[broker_id].send_signal(signal.SIGSTOP)

    def resume(self, broker_id: int) -> None:
        self._processes[broker_id].send_signal(signal.SIGCONT)

    def fill_disk(self, broker_id: int) -> None:
        """From now on no file of the broker can grow; only a new process can write again."""
        _, hard = resource.prlimit(self.pid(broker_id), resource.RLIMIT_FSIZE)
        resource.prlimit(self.pid(broker_id), resource.RLIMIT_FSIZE, (0, hard))

    def wait_for_end(self, broker_id: int, timeout_s: float = STOP_S_MAX) -> int:
        """Of a broker that gives up by itself; its exit code."""
        self._processes[broker_id].wait(timeout_s)
        return self._end(broker_id)

    def isolate(self, broker_id: int) -> None:
        """Cut a broker off from all others, ZooKeeper not."""
        for other in self.ids:
            if other != broker_id:
                self.network.cut(name_of(broker_id), name_of(other))

    def cut_from_zookeeper(self, broker_id: int) -> None:
        self.network.cut(name_of(broker_id), ZOOKEEPER)

    def close(self) -> None:
        for broker_id in list(self._processes):
            self.kill(broker_id)
        self.network.close()

    # -- processes

    def settings_of(self, broker_id: int) -> dict[str, str]:
        port, between = self.ports[broker_id], self._between[broker_id]
        return {
            **self._settings,
            "broker.id": str(broker_id),
            "log.dirs": str(self.data_of(broker_id)),
            "listeners": f"PLAINTEXT://127.0.0.1:{port},INSIDE://127.0.0.1:{between}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port},INSIDE://127.0.0.1:{self._advertised[broker_id]}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT",
            "inter.broker.listener.name": "INSIDE",
        }

    def zookeeper_of(self, broker_id: int) -> str:
        """The ensemble as this broker sees it."""
        return self._zookeepers[broker_id] + self.chroot

    def _command(self, broker_id: int) -> list[str]:
        command = [sys.executable, "-m", "moldau", "serve", "--stop-with-input"]
        command += ["--zookeeper", self.zookeeper_of(broker_id)]
        for name, value in self.settings_of(broker_id).items():
            command += ["--set", f"{name}={value}"]
        return command

    def _log_path(self, broker_id: int) -> Path:
        return self.folder / f"{name_of(broker_id)}.log"

    def _spawn(self, broker_id: int) -> None:
        assert broker_id not in self._processes, "it is running"
        with self._log_path(broker_id).open("ab") as log:
            self._processes[broker_id] = subprocess.Popen(
                self._command(broker_id),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )

    def _wait_until_listening(self, broker_id: int) -> None:
        process = self._processes[broker_id]
        assert process.stdout is not None
        watchdog = threading.Timer(START_S_MAX, process.kill)
        watchdog.start()
        try:
            line = process.stdout.readline().decode()
        finally:
            watchdog.cancel()
        if not re.match(rf"Moldau broker {broker_id} listens on ", line):
            self.kill(broker_id)
            raise AssertionError(f"broker {broker_id} did not start: {line!r}\n{self.log_of(broker_id)[-4000:]}")

    def _end(self, broker_id: int) -> int:
        process = self._processes.pop(broker_id)
        try:
            code = process.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_S_MAX)
            raise
        finally:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
        return code


@contextmanager
def process_cluster(
    settings: Mapping[str, str] | None = None,
    *,
    brokers: int = 3,
    zookeepers: int = 1,
    chroot: str = "",
    kind: type[ProcessCluster] = ProcessCluster,
    started: int | None = None,
) -> Iterator[ProcessCluster]:
    """A cluster that runs, with all its brokers or only the first `started`; gone with all its data afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="moldau-cluster-"))
    try:
        with zookeeper(zookeepers) as ensemble:
            cluster = kind(folder, ensemble, settings or {}, brokers, chroot)
            try:
                cluster.start(*cluster.ids[:started])
                yield cluster
            finally:
                cluster.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def wait_until(is_met: Callable[[], bool], what: str, timeout_s: float = 30.0) -> None:
    ends_at = time.monotonic() + timeout_s
    while not is_met():
        assert time.monotonic() < ends_at, f"not within {timeout_s} s: {what}"
        time.sleep(0.05)
