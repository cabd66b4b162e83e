"""kafka-reassign-partitions on a cluster of two: generate, execute, verify, cancel, throttle."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from moldau import Admin
from moldau.clients.admin import ConfigResource, NewTopic
from moldau.testing.local_cluster import LocalCluster
from tests.tools.conftest import Outcome, Run

pytestmark = pytest.mark.slow

DONE_S_MAX = 30.0


@pytest.fixture(scope="module")
def two() -> Iterator[LocalCluster]:
    with LocalCluster({"offsets.topic.replication.factor": "1"}, brokers=2) as running:
        yield running


@pytest.fixture
def reassign(tool: Run, two: LocalCluster) -> Run:
    return lambda *words: tool("reassign_partitions", "--bootstrap-server", two.bootstrap_servers, *words)


def saved(folder: Path, document: str) -> str:
    path = folder / "plan.json"
    path.write_text(document)
    return str(path)


def verified(reassign: Run, path: str) -> Outcome:
    """What --verify prints when all is through."""
    deadline = time.monotonic() + DONE_S_MAX
    while True:
        printed = reassign("--verify", "--reassignment-json-file", path)
        assert printed.code == 0, printed
        if "still in progress" not in printed.out and "There is no active" not in printed.out:  # a broker may lag
            return printed
        assert time.monotonic() < deadline, printed


def test_a_plan_is_generated_executed_and_verified(
    reassign: Run, two: LocalCluster, topic: str, tmp_path: Path
) -> None:
    with Admin(bootstrap_servers=two.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(topic, replicas_assignments={0: [0], 1: [0]})])
        topics = saved(tmp_path, json.dumps({"topics": [{"topic": topic}], "version": 1}))
        generated = reassign("--generate", "--topics-to-move-json-file", topics, "--broker-list", "1")
        assert generated.code == 0, generated
        head, current, _, title, proposed = generated.lines
        assert head == "Current partition replica assignment"
        assert title == "Proposed partition reassignment configuration"
        assert [row["replicas"] for row in json.loads(current)["partitions"]] == [[0], [0]]
        assert [row["replicas"] for row in json.loads(proposed)["partitions"]] == [[1], [1]]
        path = saved(tmp_path, proposed)
        started = reassign("--execute", "--reassignment-json-file", path, "--throttle", "1000000")
        assert started.lines[0] == "Current partition replica assignment"
        assert "Save this to use as the --reassignment-json-file option during rollback" in started.lines
        assert "The inter-broker throttle limit was set to 1000000 B/s" in started.lines
        assert started.lines[-1] == f"Successfully started partition reassignments for {topic}-0,{topic}-1"
        done = verified(reassign, path)
        assert done.lines[:3] == [
            "Status of partition reassignment:",
            f"Reassignment of partition {topic}-0 is completed.",
            f"Reassignment of partition {topic}-1 is completed.",
        ]
        assert done.lines[-2:] == [
            "Clearing broker-level throttles on brokers 0,1",
            f"Clearing topic-level throttles on topic {topic}",
        ]
        broker = ConfigResource.broker(0)
        assert "leader.replication.throttled.rate" not in admin.describe_configs([broker])[broker]
    assert reassign("--list").out == "No partition reassignments found.\n"
    cancelled = reassign("--cancel", "--reassignment-json-file", path)
    assert cancelled.lines[0] == "None of the specified partition reassignments are active."


def test_plans_that_make_no_sense_are_refused(reassign: Run, tmp_path: Path) -> None:
    row = {"topic": "t", "partition": 0, "replicas": [0]}
    for rows, text in (
        ([], "Partition reassignment list cannot be empty"),
        ([{**row, "replicas": []}], "Partition replica list cannot be empty"),
        ([{**row, "replicas": [0, 0]}], "Partition replica lists may not contain duplicate entries: t-0 contains"),
        ([row, row], "duplicate topic partitions: t-0"),
        ([{**row, "replicas": [7]}], "Unknown broker id 7"),
        ([row], "This server does not host this topic-partition."),
    ):
        failed = reassign("--execute", "--reassignment-json-file", saved(tmp_path, json.dumps({"partitions": rows})))
        assert failed.code == 1
        assert text in failed.err


def test_wrong_command_lines_are_refused(reassign: Run, tool: Run) -> None:
    for words, text in (
        ((), "Command must include exactly one action: --generate, --execute, --verify, --cancel, --list"),
        (("--verify",), 'Missing required argument "[reassignment-json-file]"'),
        (("--list", "--additional"), 'Option "[additional]" can\'t be used with action "[list]"'),
    ):
        failed = reassign(*words)
        assert failed.code == 1
        assert text in failed.err
    assert "Please specify --bootstrap-server" in tool("reassign_partitions", "--list").err
