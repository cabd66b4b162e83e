"""A ZooKeeper of our own: by command, beside a broker, and gone with whoever started it."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from moldau.base.errors import ConfigError
from moldau.cluster.zookeeper.server import ZooKeeperServer
from tests.broker_process import free_port
from tests.cluster.cluster_process import wait_until
from tests.cluster.znode_view import ZnodeView
from tests.zookeeper_process import require_zookeeper

END_S_MAX = 30.0


def _moldau(*arguments: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "moldau", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _accepts(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _properties(folder: Path, port: int) -> Path:
    path = folder / "zookeeper.properties"
    path.write_text(f"# Kafka's own\ndataDir={folder}/zookeeper\nclientPort={port}\nmaxClientCnxns=0\n")
    return path


@pytest.mark.java
@pytest.mark.slow
def test_the_command_serves_by_kafkas_file_until_it_is_stopped(tmp_path: Path) -> None:
    require_zookeeper()
    port = free_port()
    with _moldau("zookeeper-server-start", _properties(tmp_path, port)) as process:
        assert process.stdout is not None
        assert (
            process.stdout.readline() == f"ZooKeeper serves on 127.0.0.1:{port}; its data is in {tmp_path}/zookeeper\n"
        )
        with _moldau("zookeeper-server-start", _properties(tmp_path, port)) as second:
            _, refusal = second.communicate(timeout=END_S_MAX)
        assert (second.returncode, refusal) == (
            1,
            f"moldau: another ZooKeeper serves on 127.0.0.1:{port} already: stop it, or use it\n",
        )
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=END_S_MAX)
    assert (process.returncode, errors) == (0, "")
    assert not _accepts(port)


@pytest.mark.java
@pytest.mark.slow
def test_a_broker_brings_its_zookeeper_along_and_even_kill_9_leaves_none_behind(tmp_path: Path) -> None:
    require_zookeeper()
    port = free_port()
    address = f"auto:{port}"
    with _moldau("serve", "--zookeeper", address, "--port", "0", "--data", tmp_path / "a") as first:
        assert first.stdout is not None
        assert re.match(r"Moldau broker 1001 listens on", first.stdout.readline())
        with _moldau("serve", "--zookeeper", address, "--port", "0", "--data", tmp_path / "b") as second:
            assert second.stdout is not None
            assert re.match(r"Moldau broker 1002 listens on", second.stdout.readline())
            with ZnodeView(f"127.0.0.1:{port}") as znodes:
                assert znodes.brokers() == [1001, 1002]
            second.send_signal(signal.SIGTERM)
            second.communicate(timeout=END_S_MAX)
            assert second.returncode == 0
        assert _accepts(port), "it is the first one's"
        first.kill()
        first.communicate(timeout=END_S_MAX)
    wait_until(lambda: not _accepts(port), "the end of ZooKeeper")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "cannot be read: No such file"),
        ("clientPort=2181\n", "dataDir is missing"),
        ("dataDir=/tmp/x\n", "clientPort is missing"),
        ("dataDir=/tmp/x\nclientPort=many\n", "clientPort is 'many', which is not a number"),
    ],
)
def test_a_wrong_file_is_one_clear_line(tmp_path: Path, content: str | None, problem: str) -> None:
    path = tmp_path / "zookeeper.properties"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigError, match=re.escape(problem)):
        ZooKeeperServer(path)
