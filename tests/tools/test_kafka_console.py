"""kafka-console-producer and kafka-console-consumer: lines in, lines out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moldau import Admin, TopicPartition
from moldau.base.hashing import coordinator_partition
from moldau.cli.kafka.failures import ToolFailed
from moldau.cli.kafka.line_reader import Line, LineReader
from moldau.clients.admin import OffsetSpec
from tests.tools.conftest import Outcome, Run

OFFSETS_PARTITIONS = 50


@pytest.fixture
def created(run: Run, topic: str) -> str:
    run("topics", "--create", "--topic", topic)
    return topic


def produce(run: Run, topic: str, text: str, *words: str) -> None:
    run("console_producer", "--topic", topic, "--timeout", "0", *words, stdin=text)


def consume(run: Run, topic: str, count: int, *words: str) -> Outcome:
    return run("console_consumer", "--topic", topic, "--from-beginning", "--max-messages", str(count), *words)


def test_lines_become_records_and_records_lines(run: Run, created: str) -> None:
    produce(run, created, "first\nsecond\r\n\nlast ü")
    printed = consume(run, created, 4)
    assert printed.out == "first\nsecond\n\nlast ü\n"
    assert printed.err == "Processed a total of 4 messages\n"


def test_keys_headers_and_null_are_read_and_printed(run: Run, created: str) -> None:
    reading = ("parse.key=true", "parse.headers=true", "null.marker=NULL", "key.separator=|")
    words = [word for each in reading for word in ("--property", each)]
    produce(run, created, "a:1,b:NULL\tk|v\nNULL\tk2|NULL\n", "--compression-codec", "zstd", *words)
    shown = ("print.key=true", "print.headers=true", "print.partition=true", "print.offset=true", "key.separator=|")
    words = [word for each in shown for word in ("--property", each)]
    printed = consume(run, created, 2, *words)
    assert printed.out == "Partition:0|Offset:0|a:1,b:null|k|v\nPartition:0|Offset:1|NO_HEADERS|k2|null\n"


def test_numbers_are_printed_with_a_deserializer(run: Run, created: str) -> None:
    data = (7).to_bytes(8, "big").decode("latin-1")
    produce(run, created, f"word:{data}\n", "--property", "parse.key=true", "--property", "key.separator=:")
    formatter = ("--formatter", "kafka.tools.DefaultMessageFormatter", "--property", "print.key=true")
    java = "org.apache.kafka.common.serialization."
    printed = consume(run, created, 1, *formatter, "--property", f"value.deserializer={java}LongDeserializer")
    assert printed.out == "word\t7\n"


def test_a_partition_is_read_from_an_offset_without_a_group(run: Run, created: str) -> None:
    produce(run, created, "0\n1\n2\n3\n")
    words = ("--topic", created, "--partition", "0", "--timeout-ms", "300")
    assert run("console_consumer", *words, "--offset", "2", "--max-messages", "1").out == "2\n"
    late = run("console_consumer", *words)
    assert late.out == ""
    assert late.err.endswith("Processed a total of 0 messages\n")


def test_a_group_goes_on_where_it_was(run: Run, created: str) -> None:
    produce(run, created, "0\n1\n2\n")
    group = ("--group", f"group-of-{created}")
    assert consume(run, created, 2, *group).out == "0\n1\n"
    assert consume(run, created, 1, *group).out == "2\n"


def test_committed_offsets_are_printed_from_their_topic(run: Run, address: str, created: str) -> None:
    group = f"reader-of-{created}"
    place = TopicPartition("__consumer_offsets", coordinator_partition(group, OFFSETS_PARTITIONS))
    with Admin(bootstrap_servers=address) as admin:
        admin.alter_consumer_group_offsets(group, {TopicPartition(created, 0): 1})
        end = admin.list_offsets({place: OffsetSpec.LATEST})[place].offset
    words = (
        "--topic",
        place.topic,
        "--partition",
        str(place.partition),
        "--offset",
        "earliest",
        "--max-messages",
        str(end),
    )
    reading = ("console_consumer", *words, "--formatter")
    lines = run(*reading, "kafka.coordinator.group.GroupMetadataManager\\$OffsetsMessageFormatter").out
    assert f"[{group},{created},0]::OffsetAndMetadata(offset=1, leaderEpoch=Optional.empty, metadata=" in lines
    old = run(*reading, "kafka.coordinator.GroupMetadataManager$OffsetsMessageFormatter").out
    assert f"[{group},{created},0]::[OffsetMetadata[1,NO_METADATA],CommitTime " in old
    new = run(*reading, "org.apache.kafka.tools.consumer.OffsetsMessageFormatter")
    keys = [json.loads(line)["key"]["data"] for line in new.lines]
    assert {"group": group, "topic": created, "partition": 0} in keys


def test_a_topic_that_is_not_there_is_told(tool: Run, address: str, topic: str) -> None:
    words = ("--bootstrap-server", address, "--topic", topic, "--max-block-ms", "300")
    failed = tool("console_producer", *words, stdin="a\n")
    assert failed.code == 1
    assert topic in failed.err
    assert "Traceback" not in failed.err


def test_settings_come_from_files_and_options(tool: Run, address: str, created: str, tmp_path: Path) -> None:
    settings = tmp_path / "producer.properties"
    settings.write_text("acks=1\nlinger.ms=0\n")
    words = ("--broker-list", address, "--topic", created, "--producer.config", str(settings))
    assert tool("console_producer", *words, "--producer-property", "batch.size=100", stdin="a\n").code == 0
    refused = tool("console_producer", *words, "--producer-property", "acks=some", stdin="a\n")
    assert refused.code == 1
    assert "acks" in refused.err


def test_wrong_command_lines_are_refused(tool: Run, address: str) -> None:
    at = ("--bootstrap-server", address)
    for module, words, text in (
        ("console_producer", at, 'Missing required argument "[topic]"'),
        ("console_consumer", at, "Exactly one of --include/--topic is required."),
        ("console_consumer", (*at, "--include", "a", "--partition", "0"), "The topic is required when partition is"),
        (
            "console_consumer",
            (*at, "--topic", "a", "--offset", "0"),
            "The partition is required when offset is specified.",
        ),
        (
            "console_consumer",
            (*at, "--topic", "a", "--partition", "0", "--offset", "x"),
            "offset value 'x' is incorrect",
        ),
        ("console_consumer", (*at, "--topic", "a", "--partition", "0", "--group", "g"), "Options group and partition"),
        ("console_consumer", (*at, "--topic", "a", "--formatter", "com.example.Mine"), "com.example.Mine"),
    ):
        failed = tool(module, *words)
        assert failed.code == 1, words
        assert text in failed.err


@pytest.mark.parametrize(
    ("properties", "text", "line"),
    [
        ({}, "a\tb", Line(b"a\tb")),
        ({"parse.key": "true"}, "a\tb\tc", Line(b"b\tc", b"a")),
        ({"parse.key": "true", "ignore.error": "true"}, "a", Line(b"a")),
        ({"parse.headers": "true"}, "h:1\tv", Line(b"v", None, [("h", b"1")])),
    ],
)
def test_a_line_is_parsed_by_its_properties(properties: dict[str, object], text: str, line: Line) -> None:
    assert LineReader(properties).parse(text) == line


def test_separators_that_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(ToolFailed, match=r"headers\.delimiter and headers\.separator may not be equal"):
        LineReader({"headers.delimiter": ","})
    with pytest.raises(ToolFailed, match="No key separator found on line number 0: 'x'"):
        LineReader({"parse.key": "true"}).parse("x")
