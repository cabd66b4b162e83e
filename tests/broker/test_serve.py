"""`moldau serve` as a process: what it says, how it stops, and what it refuses to start on."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess, free_port


def serve(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run it to its end, which is expected to come soon."""
    command = [sys.executable, "-m", "moldau", "serve", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def last_line(text: str) -> str:
    return text.strip().splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_listens_and_stops_cleanly_on_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    config = tmp_path / "server.properties"
    config.write_text(f"broker.id=0\nlisteners=PLAINTEXT://127.0.0.1:0\nlog.dirs={tmp_path}/logs\n")
    command = [sys.executable, "-m", "moldau", "serve", "--config", str(config)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"Moldau broker 0 listens on PLAINTEXT://127\.0\.0\.1:(\d+); its data is in (.*)\n", line)
        assert found, line
        assert found[2] == f"{tmp_path}/logs"
        socket.create_connection(("127.0.0.1", int(found[1])), timeout=5).close()
        process.send_signal(number)
        _, log = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "[Kafka Server 0], started (kafka.server.KafkaServer)" in log
    assert "[Kafka Server 0], shut down completed" in log
    assert (tmp_path / "logs" / ".kafka_cleanshutdown").exists()
    assert {path.name for path in (tmp_path / "logs").iterdir()} >= {
        "meta.properties",
        "cleaner-offset-checkpoint",
        "log-start-offset-checkpoint",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
    }


@pytest.mark.slow
def test_a_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        outcome = serve("--data", tmp_path / "logs", "--set", f"listeners=PLAINTEXT://127.0.0.1:{port}")
    assert outcome.returncode == 1
    assert last_line(outcome.stderr).startswith(f"moldau: listener PLAINTEXT cannot be bound to 127.0.0.1:{port}: ")
    assert "Traceback" not in outcome.stderr


@pytest.mark.slow
def test_a_directory_in_use_is_one_clear_line(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "logs")
    broker.start()
    try:
        outcome = serve("--data", tmp_path / "logs", "--port", str(free_port()))
    finally:
        assert broker.stop() == 0
    assert outcome.returncode == 1
    assert re.search(r"^moldau: .*logs.*(used|locked|lock)", last_line(outcome.stderr)), outcome.stderr
    assert "Traceback" not in outcome.stderr


@pytest.mark.slow
def test_a_directory_of_another_broker_or_cluster_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    meta = tmp_path / "logs" / "meta.properties"
    meta.write_text("version=0\nbroker.id=7\ncluster.id=somewhere\n")
    outcome = serve("--data", tmp_path / "logs", "--port", "0", "--set", "broker.id=7")
    assert outcome.returncode == 1
    assert "belong to cluster somewhere" in last_line(outcome.stderr)
    meta.write_text("version=0\nbroker.id=7\n")
    outcome = serve("--data", tmp_path / "logs", "--port", "0", "--set", "broker.id=8")
    assert outcome.returncode == 1
    assert "broker.id is 8, but the log directories belong to broker 7" in last_line(outcome.stderr)
    assert "Traceback" not in outcome.stderr


@pytest.mark.slow
def test_wrong_settings_are_named_and_nothing_is_made(tmp_path: Path) -> None:
    outcome = serve("--data", tmp_path / "logs", "--set", "num.partitions=many", "--set", "log.segment.bytes=1")
    assert outcome.returncode == 1
    assert "num.partitions" in outcome.stderr
    assert "log.segment.bytes" in outcome.stderr
    assert not (tmp_path / "logs").exists()
    assert "write it as name=value" in serve("--set", "num.partitions").stderr
    assert "cannot be read" in serve("--config", tmp_path / "none.properties").stderr


@pytest.mark.slow
def test_an_id_is_generated_once_and_kept(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "moldau", "serve", "--port", "0", "--data", str(tmp_path / "logs")]
    for _ in range(2):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("Moldau broker 1001 listens on ")
            process.terminate()
            assert process.wait(30) == 0
