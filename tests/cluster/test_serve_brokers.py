"""`moldau serve --brokers`: a cluster in one process or in several, as users start it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tests.cluster.cluster_process import wait_until
from tests.zookeeper_process import require_zookeeper

STOP_S_MAX = 30


@contextmanager
def served(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], dict[int, str]]]:
    """Three brokers, and where each of them listens; what they say on standard error is in `log`."""
    command = [sys.executable, "-m", "moldau", "serve", "--brokers", "3", "--data", str(folder / "data"), *options]
    command += ["--set", "listeners=PLAINTEXT://127.0.0.1:0"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    children: list[int] = []
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        found = [re.match(r"Moldau broker (\d) listens on PLAINTEXT://(\S+); its data is in ", line) for line in lines]
        assert all(found), (lines, (folder / "log").read_text())
        children = list(child_processes(process.pid))
        yield process, {int(each[1]): each[2] for each in found if each}
    finally:
        process.terminate()
        process.communicate(timeout=STOP_S_MAX)
        for pid in children:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def child_processes(parent: int) -> dict[int, str]:
    """The processes that a process has started, with their command lines."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return {int(pid): Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ") for pid in children}


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def check_cluster(addresses: dict[int, str]) -> None:
    """Any of the brokers knows all of them."""
    known = AdminClient({"bootstrap.servers": addresses[1]}).list_topics(timeout=10).brokers
    assert {number: f"{each.host}:{each.port}" for number, each in known.items()} == addresses


@pytest.mark.slow
def test_three_brokers_in_one_process_are_a_cluster(tmp_path: Path) -> None:
    with served(tmp_path) as (process, addresses):
        check_cluster(addresses)
        assert not child_processes(process.pid)
        process.terminate()
        assert process.wait(STOP_S_MAX) == 0
    kept = {path.name for path in (tmp_path / "data").iterdir()}
    assert kept == {"broker-0", "broker-1", "broker-2", "coordination.sqlite"}


@pytest.mark.slow
@pytest.mark.java
def test_three_processes_are_a_cluster_and_stop_with_their_parent(tmp_path: Path) -> None:
    require_zookeeper()
    with served(tmp_path, "--processes") as (process, addresses):
        check_cluster(addresses)
        children = child_processes(process.pid)
        assert len(children) == 4  # three brokers and a ZooKeeper
        victim = next(pid for pid, command in children.items() if "broker.id=2" in command)
        os.kill(victim, signal.SIGKILL)
        line = f"moldau: broker process 2 (pid {victim}) has ended with code -9; 2 others go on\n"
        wait_until(lambda: line in (tmp_path / "log").read_text(), "the parent says that a broker has died")
        process.terminate()
        process.wait(STOP_S_MAX)
        assert not any(map(is_alive, children))


@pytest.mark.slow
@pytest.mark.java
def test_brokers_do_not_outlive_a_parent_that_is_killed(tmp_path: Path) -> None:
    require_zookeeper()
    with served(tmp_path, "--processes") as (process, _addresses):
        brokers = [pid for pid, command in child_processes(process.pid).items() if "broker.id=" in command]
        assert len(brokers) == 3
        process.kill()
        wait_until(lambda: not any(map(is_alive, brokers)), "the brokers are gone")
