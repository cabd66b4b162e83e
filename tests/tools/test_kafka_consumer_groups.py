"""kafka-consumer-groups against a broker: tables, eight resets, deletion, and what is refused."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from moldau import Admin, Consumer, Producer, TopicPartition
from tests.tools.conftest import Run

RECORDS = 10


@pytest.fixture
def group(address: str, topic: str) -> str:
    """A group without members that has read four of ten records of a partition, and nothing of another."""
    name = f"group-of-{topic}"
    with Admin(bootstrap_servers=address) as admin, Producer(bootstrap_servers=address) as producer:
        admin.create_topics([topic])
        admin.create_partitions({topic: 2})
        for number in range(RECORDS):
            producer.send(topic, str(number), partition=0)
        producer.flush()
        admin.alter_consumer_group_offsets(name, {TopicPartition(topic, 0): 4})
    return name


@pytest.fixture
def member(address: str, topic: str, group: str) -> Iterator[Consumer]:
    """A member of that group, with both partitions."""
    with Consumer(bootstrap_servers=address, group_id=group, client_id="reader", enable_auto_commit=False) as consumer:
        consumer.subscribe([topic])
        deadline = time.monotonic() + 30
        while len(consumer.assignment()) < 2:
            consumer.poll(0.05)
            assert time.monotonic() < deadline
        yield consumer


def plan(text: str) -> dict[int, int]:
    """The offsets by partition in the table of a reset."""
    return {
        int(partition): int(offset)
        for partition, offset in re.findall(r"^\S+ +\S+ +(\d+) +(\d+) *$", text, re.MULTILINE)
    }


def test_groups_are_listed_with_types_and_states(run: Run, group: str) -> None:
    assert group in run("consumer_groups", "--list").lines
    head, *rows = run("consumer_groups", "--list", "--state", "--type").lines
    assert head.split() == ["GROUP", "TYPE", "STATE"]
    assert [group, "Classic", "Empty"] in [row.split() for row in rows]
    assert group not in run("consumer_groups", "--list", "--state", "stable").out


def test_offsets_of_a_group_without_members_are_described(run: Run, group: str, topic: str) -> None:
    described = run("consumer_groups", "--describe", "--group", group)
    assert described.err == f"\nConsumer group '{group}' has no active members.\n"
    blank, head, row = described.lines
    assert blank == ""
    assert head.split() == [
        "GROUP",
        "TOPIC",
        "PARTITION",
        "CURRENT-OFFSET",
        "LOG-END-OFFSET",
        "LAG",
        "CONSUMER-ID",
        "HOST",
        "CLIENT-ID",
    ]
    assert row.split() == [group, topic, "0", "4", "10", "6", "-", "-", "-"]


def test_members_and_state_of_a_living_group_are_described(run: Run, member: Consumer, group: str, topic: str) -> None:
    first, second = run("consumer_groups", "--describe", "--group", group).lines[2:]
    assert first.split()[:6] == [group, topic, "0", "4", "10", "6"]
    assert second.split()[:6] == [group, topic, "1", "-", "0", "-"]
    assert re.fullmatch(r"reader-\S+ /127.0.0.1 reader", " ".join(first.split()[6:]))
    head, row = run("consumer_groups", "--describe", "--group", group, "--members", "--verbose").lines[1:]
    assert head.split() == ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT"]
    assert row.split()[2:] == ["/127.0.0.1", "reader", "2", f"{topic}(0,1)"]
    head, row = run("consumer_groups", "--describe", "--group", group, "--state").lines[1:]
    assert head.split() == ["GROUP", "COORDINATOR", "(ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"]
    assert row.split()[2:] == ["(0)", "range", "Stable", "1"]


def test_a_living_group_keeps_its_offsets(tool: Run, address: str, member: Consumer, group: str, topic: str) -> None:
    words = ("--bootstrap-server", address, "--group", group)
    failed = tool("consumer_groups", *words, "--reset-offsets", "--topic", topic, "--to-latest", "--execute")
    assert failed.code == 1
    assert f"if the group '{group}' is inactive, but the current state is Stable." in failed.err
    deletion = tool("consumer_groups", *words, "--delete")
    assert deletion.code == 1
    assert f"* Group '{group}' could not be deleted due to: " in deletion.out


def test_all_eight_resets_are_planned(run: Run, group: str, topic: str, tmp_path: Path) -> None:
    saved = tmp_path / "plan.csv"
    saved.write_text(f"{topic},0,7\n{topic},1,0\n")
    now = datetime.now(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00")
    for words, planned in (
        (("--to-earliest",), {0: 0, 1: 0}),
        (("--to-latest",), {0: 10, 1: 0}),
        (("--to-current",), {0: 4, 1: 0}),
        (("--to-offset", "5"), {0: 5, 1: 0}),
        (("--to-datetime", now), {0: 10, 1: 0}),
        (("--by-duration", "PT30M"), {0: 0, 1: 0}),
        (("--from-file", str(saved)), {0: 7, 1: 0}),
    ):
        printed = run("consumer_groups", "--reset-offsets", "--dry-run", "--group", group, "--topic", topic, *words)
        assert plan(printed.out) == planned, words
    shifted = run(
        "consumer_groups", "--reset-offsets", "--dry-run", "--group", group, "--all-topics", "--shift-by", "-3"
    )
    assert plan(shifted.out) == {0: 1}
    assert run("consumer_groups", "--describe", "--group", group).lines[-1].split()[3] == "4"


def test_a_plan_is_executed_and_one_that_is_exported_is_read(run: Run, group: str, topic: str, tmp_path: Path) -> None:
    reset = ("consumer_groups", "--reset-offsets", "--group", group)
    exported = run(*reset, "--topic", f"{topic}:0", "--to-offset", "6", "--export", "--dry-run").out
    assert exported == f"{topic},0,6\n\n"
    saved = tmp_path / "plan.csv"
    saved.write_text(exported)
    run(*reset, "--from-file", str(saved), "--execute")
    assert run("consumer_groups", "--describe", "--group", group).lines[-1].split()[3:6] == ["6", "10", "4"]


def test_offsets_outside_of_the_log_are_moved_into_it(run: Run, group: str, topic: str) -> None:
    printed = run("consumer_groups", "--reset-offsets", "--group", group, "--topic", f"{topic}:0", "--to-offset", "99")
    assert plan(printed.out) == {0: 10}
    assert f"New offset (99) is higher than latest offset for topic partition {topic}-0. Value" in printed.err
    assert printed.err.startswith("WARN: No action will be performed as the --execute option is missing.")


def test_offsets_and_groups_are_deleted(run: Run, tool: Run, address: str, group: str, topic: str) -> None:
    printed = run("consumer_groups", "--delete-offsets", "--group", group, "--topic", topic)
    assert printed.out.startswith(f"Request succeed for deleting offsets with topic {topic} group {group}\n")
    assert [row.split() for row in printed.lines[-2:]] == [[topic, "0", "Successful"], [topic, "1", "Successful"]]
    run("consumer_groups", "--reset-offsets", "--group", group, "--topic", topic, "--to-latest", "--execute")
    deleted = run("consumer_groups", "--delete", "--group", group)
    assert deleted.out == f"Deletion of requested consumer groups ('{group}') was successful.\n"
    gone = tool("consumer_groups", "--bootstrap-server", address, "--describe", "--group", group)
    assert gone.code == 1
    assert f"onsumer group '{group}' does not exist." in gone.err


def test_wrong_command_lines_are_refused(tool: Run, address: str) -> None:
    at = ("--bootstrap-server", address)
    reset = (*at, "--reset-offsets", "--group", "g", "--dry-run")
    for words, text in (
        (("--list",), 'Missing required argument "[bootstrap-server]"'),
        (at, "Command must include exactly one action: --list, --describe, --delete"),
        ((*at, "--describe"), "Option [describe] takes one of these options: [group], [all-groups]"),
        ((*at, "--describe", "--group", "g", "--members", "--offsets"), "takes at most one of these options"),
        ((*at, "--list", "--state", "asleep"), "Invalid state list 'asleep'. Valid states are: "),
        ((*at, "--list", "--group", "g"), 'Option "[group]" can\'t be used with option "[list]"'),
        ((*reset, "--to-latest"), "One of the reset scopes should be defined: --all-topics, --topic."),
        ((*reset, "--all-topics"), "Option '[reset-offsets]' requires one of the following scenarios: "),
        ((*reset, "--all-topics", "--to-latest", "--to-current"), 'can\'t be used with option "[to-current]"'),
        ((*reset, "--topic", "t", "--by-duration", "soon"), "'soon' is not a duration"),
        ((*reset, "--topic", "t:x", "--to-latest"), "Invalid partition 'x' specified in topic arg 't:x'"),
        ((*reset, "--execute"), "only accepts one of [execute] and [dry-run]"),
    ):
        failed = tool("consumer_groups", *words)
        assert failed.code == 1, words
        assert text in failed.err
