"""kafka-topics against a broker: what it does, what it prints, how it fails."""

from __future__ import annotations

import re

from tests.tools.conftest import Run


def test_a_topic_lives_from_create_to_delete(run: Run, topic: str) -> None:
    created = run("topics", "--create", "--topic", topic, "--partitions", "2", "--config", "retention.ms=60000")
    assert created.out == f"Created topic {topic}.\n"
    assert topic in run("topics", "--list").lines
    head, first, second = run("topics", "--describe", "--topic", topic).lines
    counts = r"PartitionCount: 2\tReplicationFactor: 1\tConfigs: \S*retention.ms=60000\S*"
    assert re.fullmatch(rf"Topic: {topic}\tTopicId: \S{{22}}\t{counts}", head)
    assert first.startswith(f"\tTopic: {topic}\tPartition: 0\tLeader: 0\tReplicas: 0\tIsr: 0\tElr: ")
    assert second.startswith(f"\tTopic: {topic}\tPartition: 1\tLeader: 0")
    assert run("topics", "--alter", "--topic", topic, "--partitions", "4").out == ""
    assert "PartitionCount: 4" in run("topics", "--describe", "--topic", topic).out
    assert run("topics", "--delete", "--topic", topic).out == ""
    assert topic not in run("topics", "--list").lines


def test_a_topic_is_described_by_its_id_and_by_a_pattern(run: Run, topic: str) -> None:
    run("topics", "--create", "--topic", topic)
    described = run("topics", "--describe", "--topic", topic).out
    topic_id = described.split("TopicId: ")[1].split("\t")[0]
    by_id = run("topics", "--describe", "--topic-id", topic_id).out
    assert by_id.split("\tElr")[0] == described.split("\tElr")[0]
    assert topic in run("topics", "--list", "--topic", f"nothing|{topic[:-1]}.*").lines


def test_only_troubled_partitions_are_reported_where_asked(run: Run, topic: str) -> None:
    run("topics", "--create", "--topic", topic, "--config", "cleanup.policy=compact")
    for report in ("under-replicated-partitions", "unavailable-partitions", "under-min-isr-partitions"):
        assert run("topics", "--describe", "--topic", topic, f"--{report}").out == ""
    (line,) = run("topics", "--describe", "--topic", topic, "--at-min-isr-partitions").lines
    assert "Partition: 0" in line
    overrides = run("topics", "--describe", "--topics-with-overrides", "--topic", topic).lines
    assert len(overrides) == 1
    assert "cleanup.policy=compact" in overrides[0]


def test_replicas_may_be_assigned_by_hand(run: Run, tool: Run, address: str, topic: str) -> None:
    run("topics", "--create", "--topic", topic, "--replica-assignment", "0,0,0")
    assert "PartitionCount: 3" in run("topics", "--describe", "--topic", topic).out
    words = ("--bootstrap-server", address, "--create", "--topic", f"{topic}x", "--replica-assignment", "0:0")
    failed = tool("topics", *words)
    assert (failed.code, failed.out) == (1, "")
    assert "Partition replica lists may not contain duplicate entries: 0" in failed.err


def test_what_exists_or_not_is_told_unless_it_does_not_matter(run: Run, tool: Run, address: str, topic: str) -> None:
    at = ("--bootstrap-server", address, "--topic", topic)
    for action in ("--describe", "--delete"):
        failed = tool("topics", *at, action)
        assert failed.code == 1
        assert failed.err == f"Error while executing topic command : Topic '{topic}' does not exist as expected\n"
        assert tool("topics", *at, action, "--if-exists").code == 0
    run("topics", "--create", "--topic", topic)
    failed = tool("topics", *at, "--create")
    assert (failed.code, failed.err) == (1, f"Error while executing topic command : Topic '{topic}' already exists.\n")
    assert run("topics", "--create", "--if-not-exists", "--topic", topic).out == ""


def test_refusals_of_the_broker_are_told_in_its_words(tool: Run, address: str, topic: str) -> None:
    at = ("--bootstrap-server", address, "--create", "--topic")
    for words, text in (
        ((topic, "--replication-factor", "2"), "Replication factor: 2 larger than available brokers: 1."),
        ((topic, "--config", "retention.ms=often"), "retention.ms"),
        ((topic, "--config", "nothing"), 'must be in the format "key=val"'),
        ((topic, "--partitions", "0"), "The partitions must be greater than 0"),
        (("a topic",), "a topic"),
    ):
        failed = tool("topics", *at, *words)
        assert failed.code == 1
        assert failed.err.startswith("Error while executing topic command : ")
        assert text in failed.err
        assert failed.err.count("\n") <= 2


def test_options_may_have_one_dash_and_an_equals_sign(tool: Run, address: str) -> None:
    assert tool("topics", f"--bootstrap-server={address}", "-list").code == 0


def test_wrong_command_lines_are_told_in_the_words_of_kafka(tool: Run, address: str) -> None:
    at = ("--bootstrap-server", address)
    for words, text in (
        ((*at,), "Command must include exactly one action: --list, --describe, --create, --alter or --delete"),
        ((*at, "--list", "--create"), "Command must include exactly one action"),
        (("--list",), "--bootstrap-server must be specified"),
        ((*at, "--create"), 'Missing required argument "[topic]"'),
        (
            (*at, "--create", "--topic", "t", "--if-exists"),
            'Option "[if-exists]" can\'t be used with option "[create]"',
        ),
        ((*at, "--list", "--partitions", "x"), "Cannot parse argument 'x' of option partitions"),
        ((*at, "--list", "--topic"), "Option topic requires an argument"),
        ((*at, "--list", "--topics"), "topics is not a recognized option"),
        ((*at, "--list", "--topic", "a", "--topic", "b"), "Found multiple arguments for option topic"),
    ):
        failed = tool("topics", *words)
        assert failed.code == 1
        assert text in failed.err
        assert failed.err.endswith("\nRun kafka-topics --help for its options.\n")
