"""kafka-run-class, the scripts of servers, the verifiable clients, the tools of older days, and kafka-home."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from moldau import Admin, TopicPartition
from moldau.cli.kafka import server_processes
from moldau.cli.kafka.scripts import CLASSES, SCRIPTS
from moldau.cli.main import run as moldau
from tests.tools.conftest import Run


@pytest.fixture
def created(run: Run, topic: str) -> str:
    run("topics", "--create", "--topic", topic)
    return topic


def test_classes_are_tools(tool: Run, address: str, created: str) -> None:
    assert set(CLASSES.values()) <= set(SCRIPTS.values())
    words = ("-Dname=value", "kafka.tools.GetOffsetShell", "--broker-list", address, "--topic", created)
    assert tool("run_class", *words).out == f"{created}:0:0\n"
    unknown = tool("run_class", "kafka.tools.ExportZkOffsets")
    assert unknown.code == 1
    assert unknown.err.startswith("Error: Could not find or load main class kafka.tools.ExportZkOffsets\n")


def test_verifiable_clients_tell_what_they_do(run: Run, created: str) -> None:
    words = ("--topic", created, "--max-messages", "3", "--repeating-keys", "2")
    events = [json.loads(line) for line in run("verifiable_producer", *words).lines]
    assert [each["name"] for each in events] == [
        "startup_complete",
        *["producer_send_success"] * 3,
        "shutdown_complete",
        "tool_data",
    ]
    assert [(each["key"], each["value"], each["offset"]) for each in events[1:4]] == [
        ("0", "0", 0),
        ("1", "1", 1),
        ("0", "2", 2),
    ]
    assert (events[-1]["sent"], events[-1]["acked"], events[-1]["target_throughput"]) == (3, 3, -1)
    reading = ("--topic", created, "--max-messages", "3", "--group-id", f"group-of-{created}", "--verbose")
    read = [json.loads(line) for line in run("verifiable_consumer", *reading).lines]
    names = [each["name"] for each in read]
    assert names[:2] == ["startup_complete", "partitions_assigned"]
    assert names.count("record_data") == 3
    committed = [each for each in read if each["name"] == "offsets_committed"]
    assert committed[-1]["offsets"] == [{"topic": created, "partition": 0, "offset": 3}]
    assert names[-1] == "shutdown_complete"


def test_the_simple_shell_reads_a_partition_to_its_end(run: Run, created: str) -> None:
    run("console_producer", "--topic", created, "--timeout", "0", stdin="a\nb\nc\n")
    words = ("--topic", created, "--partition", "0", "--no-wait-at-logend")
    assert run("simple_consumer_shell", *words, "--offset", "1").out == "b\nc\n"
    assert run("simple_consumer_shell", *words, "--max-messages", "1", "--print-offsets").out == "next offset = 1\na\n"


def test_the_offset_checker_tells_as_it_did(run: Run, address: str, created: str) -> None:
    run("console_producer", "--topic", created, "--timeout", "0", stdin="a\nb\nc\n")
    group = f"group-of-{created}"
    with Admin(bootstrap_servers=address) as admin:
        admin.alter_consumer_group_offsets(group, {TopicPartition(created, 0): 1})
    printed = run("consumer_offset_checker", "--group", group)
    assert printed.err.startswith("WARN WARNING: ConsumerOffsetChecker is deprecated and will be dropped in releases")
    assert printed.lines[0].split() == ["Group", "Topic", "Pid", "Offset", "logSize", "Lag", "Owner"]
    assert printed.lines[1].split() == [group, created, "0", "1", "3", "2", "none"]


def test_servers_are_stopped_by_what_they_are(tool: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[tuple[int, int]] = []
    listed = [
        (11, ["/usr/bin/python3", "-m", "moldau", "serve", "--config", "server.properties"]),
        (12, ["/usr/bin/python3", "/opt/bin/moldau", "serve"]),
        (13, ["/usr/bin/python3", "/opt/bin/kafka-server-start", "server.properties"]),
        (14, ["vi", "serve"]),
        (15, ["/usr/bin/python3", "/opt/bin/moldau", "zookeeper-server-start", "serve"]),
    ]
    monkeypatch.setattr(server_processes, "processes", lambda: listed)
    monkeypatch.setattr(os, "kill", lambda process_id, number: killed.append((process_id, number)))
    assert tool("server_stop").code == 0
    assert killed == [(11, signal.SIGTERM), (12, signal.SIGTERM), (13, signal.SIGTERM)]
    killed.clear()
    assert tool("zookeeper_server_stop").code == 0
    assert killed == [(15, signal.SIGTERM)]
    listed.clear()
    nothing = tool("server_stop")
    assert (nothing.code, nothing.err) == (1, "No kafka server to stop\n")


def test_a_server_needs_a_file_that_is_there(tool: Run, tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    for module in ("server_start", "zookeeper_server_start"):
        failed = tool(module, str(path))
        assert failed.code == 1
        assert str(path) in failed.err
    assert "write NAME=VALUE" in tool("server_start", str(path), "--override", "port").err


def test_a_home_has_all_scripts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert moldau(["kafka-home", str(tmp_path / "home")]) == 0
    folder = tmp_path / "home" / "bin"
    assert {path.name for path in folder.iterdir()} == {f"{name}.sh" for name in SCRIPTS}
    done = subprocess.run(
        [folder / "kafka-topics.sh", "--version"], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith("3.9.1 (Moldau ")
    (tmp_path / "file").touch()
    assert moldau(["kafka-home", str(tmp_path / "file")]) == 1
    assert "file" in capsys.readouterr().err
