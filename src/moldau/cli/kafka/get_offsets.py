"""`kafka-get-offsets`: the first, the last, or other offsets of partitions, as `topic:partition:offset`."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from moldau.cli.kafka.connecting import Connection, add_connection_options, with_connection
from moldau.cli.kafka.failures import ToolFailed, text_of
from moldau.cli.kafka.parser import ToolParser, has
from moldau.cli.kafka.tool import Tool
from moldau.cli.kafka.topics import pattern_of

if TYPE_CHECKING:
    from moldau.clients.admin.partitions import OffsetSpec

_RULE = re.compile(r"(?P<topic>[^:,]*)(?::(?:(?P<only>\d*)|(?P<low>\d*)-(?P<high>\d*)))?")
_TIMES = {"latest": -1, "earliest": -2, "max-timestamp": -3, "earliest-local": -4, "latest-tiered": -5}

Accept = Callable[[str, int], bool]


def add_options(parser: ToolParser) -> None:
    add_connection_options(parser, "broker-list")
    parser.option("topic", "the topic, or a regular expression; else all topics", metavar="TOPIC")
    parser.option("partitions", "partitions of these topics; else all", metavar="N,…")
    parser.option(
        "topic-partitions", "topics and partitions: a number, N-M without M, N- or -M", metavar="TOPIC:1,TOPIC:0-3,…"
    )
    parser.option(
        "time",
        "which offset: latest (-1), earliest (-2), max-timestamp (-3), earliest-local (-4), latest-tiered (-5), or the "
        "first since a time in milliseconds; latest unless said",
        metavar="TIME",
    )
    parser.flag("exclude-internal-topics", "leave out Kafka's own topics")
    parser.ignored("offsets", "max-wait-ms", value=True)


def run(options: Namespace) -> int:
    if has(options, "topic-partitions") and (has(options, "topic") or has(options, "partitions")):
        raise ToolFailed("--topic-partitions cannot be used with --topic or --partitions")
    time = _time(options.time or "latest")
    accept = _rules(options.topic_partitions) if options.topic_partitions else _chosen(options)

    async def work(connection: Connection) -> int:
        from moldau.clients.admin.partitions import OffsetSpec, PartitionOperations
        from moldau.clients.admin.topic_descriptions import TopicDescriptionOperations
        from moldau.clients.admin.topics import TopicOperations
        from moldau.clients.records import TopicPartition

        topics = await connection.use(TopicOperations).list_topics(list_internal=not options.exclude_internal_topics)
        described = await connection.use(TopicDescriptionOperations).describe_topics(topics)
        spec: OffsetSpec | int = OffsetSpec(time) if time < 0 else time
        wanted = {
            TopicPartition(topic.name, info.partition): spec
            for topic in described.values()
            for info in topic.partitions
            if accept(topic.name, info.partition)
        }
        if not wanted:
            raise ToolFailed("Could not match any topic-partitions with the specified filters")
        results = await connection.use(PartitionOperations).list_offsets(wanted, raise_errors=False)
        for partition, error in results.errors.items():
            print(
                f"Skip getting offsets for topic-partition {partition} due to error: {text_of(error)}", file=sys.stderr
            )
        for partition in sorted(results.succeeded, key=str):
            if (offset := results[partition].offset) >= 0:
                print(f"{partition.topic}:{partition.partition}:{offset}")
        return 0

    return with_connection(options, work)


def _time(text: str) -> int:
    if text in _TIMES:
        return _TIMES[text]
    try:
        return max(int(text), min(_TIMES.values()))
    except ValueError:
        known = " / ".join(f"{number} or {name}" for name, number in _TIMES.items())
        raise ToolFailed(
            f"Malformed time argument {text}. Please use {known}, or a specified long format timestamp"
        ) from None


def _chosen(options: Namespace) -> Accept:
    pattern = pattern_of(options.topic or ".*")
    assert pattern is not None
    try:
        numbers = {int(each) for each in options.partitions.split(",")} if options.partitions else None
    except ValueError:
        raise ToolFailed(
            f"--partitions expects a comma separated list of numeric partition ids, but received: {options.partitions}"
        ) from None
    return lambda topic, partition: bool(pattern.fullmatch(topic)) and (numbers is None or partition in numbers)


def _rules(text: str) -> Accept:
    rules = []
    for each in text.split(","):
        rule = _RULE.fullmatch(each)
        if rule is None:
            raise ToolFailed(f"Invalid rule specification: {each}")
        low, high = int(rule["low"] or 0), int(rule["high"]) if rule["high"] else sys.maxsize
        if rule["only"]:
            low, high = int(rule["only"]), int(rule["only"]) + 1
        rules.append((re.compile(rule["topic"] or ".*"), low, high))
    return lambda topic, partition: any(
        pattern.fullmatch(topic) and low <= partition < high for pattern, low, high in rules
    )


TOOL = Tool(
    "kafka-get-offsets",
    "Get the offsets of partitions.",
    add_options,
    run,
    (
        "--bootstrap-server localhost:9092 --topic orders",
        "--bootstrap-server localhost:9092 --topic-partitions orders:0-2,bills --time earliest",
    ),
    failure="Error occurred: ",
)
main = TOOL.main
