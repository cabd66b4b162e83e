"""`kafka-console-consumer`: records of a topic go to standard output."""

from __future__ import annotations

import random
import re
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, BinaryIO

from moldau.base.clock import SystemClock
from moldau.cli.kafka.connecting import bootstrap_servers
from moldau.cli.kafka.failures import ToolFailed, WrongUsage, text_of
from moldau.cli.kafka.parser import ToolParser, has
from moldau.cli.kafka.properties import merged
from moldau.cli.kafka.tool import FAILED, Tool
from moldau.cli.kafka.topics import pattern_of

if TYPE_CHECKING:
    from moldau.cli.kafka.formatters import Formatter
    from moldau.clients.consumer.plain import Consumer

GROUPS_MAX = 100_000
POLL_S = 0.2
DEPRECATED = (
    "Using the ConsoleConsumer with old consumer is deprecated and will be removed in a future major release. "
    "Consider using the new consumer by passing [bootstrap-server] instead of [zookeeper]."
)


def add_options(parser: ToolParser) -> None:
    parser.option(
        "bootstrap-server", "where the cluster is: brokers to connect to", "broker-list", metavar="HOST:PORT,…"
    )
    parser.option("zookeeper", "the ZooKeeper that knows the brokers, for scripts of older days", metavar="HOST:PORT")
    parser.option("topic", "the topic to read", metavar="TOPIC")
    parser.option("include", "topics to read, as a regular expression", metavar="PATTERN")
    parser.option("whitelist", "the same, by its older name", metavar="PATTERN")
    parser.option("partition", "the partition to read, without a group", metavar="N", type=int)
    parser.option(
        "offset", "where to begin in it: an offset, earliest or latest, which is the default", metavar="OFFSET"
    )
    parser.flag("from-beginning", "begin with the first record, if the group has not read before")
    parser.option("max-messages", "end after so many records", metavar="N", type=int)
    parser.option("timeout-ms", "end when no record has come for so long", metavar="MS", type=int)
    parser.option("group", "the group to read in; else it is a new one", metavar="GROUP")
    parser.option("isolation-level", "read_committed leaves out open and aborted transactions", metavar="LEVEL")
    parser.option("formatter", "how records are printed: a class by Kafka's name, or one of Python", metavar="CLASS")
    parser.repeated(
        "property",
        "for the formatter: print.timestamp, print.key, print.value, print.offset, print.partition, print.headers, "
        "key.separator, line.separator, headers.separator, null.literal, key.deserializer, value.deserializer, "
        "headers.deserializer; may be repeated",
        metavar="NAME=VALUE",
    )
    parser.option("formatter-config", "a file with such properties", metavar="FILE")
    parser.option("key-deserializer", "the formatter's key.deserializer", metavar="CLASS")
    parser.option("value-deserializer", "the formatter's value.deserializer", metavar="CLASS")
    parser.repeated("consumer-property", "a setting of the consumer; may be repeated", metavar="NAME=VALUE")
    parser.option("consumer.config", "a file with settings of the consumer", metavar="FILE")
    parser.flag("skip-message-on-error", "go on behind a record that cannot be printed")
    parser.flag("enable-systest-events", "tell when the consumer has ended")
    parser.ignored("new-consumer", "delete-consumer-offsets", "csv-reporter-enabled")
    parser.ignored("blacklist", "metrics-dir", value=True)


def check(options: Namespace) -> None:
    if (options.topic is None) == (options.include is None and options.whitelist is None):
        raise WrongUsage("Exactly one of --include/--topic is required. ")
    if options.partition is not None:
        if options.topic is None:
            raise WrongUsage("The topic is required when partition is specified.")
        if options.from_beginning and options.offset is not None:
            raise WrongUsage("Options from-beginning and offset cannot be specified together.")
    elif options.offset is not None:
        raise WrongUsage("The partition is required when offset is specified.")
    pattern = options.include or options.whitelist
    if pattern is not None:
        pattern_of(pattern)
    offset = options.offset
    if offset is not None and offset.lower() not in ("earliest", "latest") and not offset.isdecimal():
        raise WrongUsage(
            f"The provided offset value '{offset}' is incorrect. Valid values are 'earliest', 'latest', or a "
            "non-negative long."
        )


def consumer_settings(options: Namespace) -> dict[str, object]:
    in_file = merged(options.consumer_config, [])
    given = merged(None, options.consumer_property_all)
    places = [options.group, in_file.get("group.id"), given.get("group.id")]
    groups = list(dict.fromkeys(str(each) for each in places if each is not None))
    if len(groups) > 1:
        listed = ", ".join(f"'{each}'" for each in groups)
        raise WrongUsage(
            "The group ids provided in different places (directly using '--group', via '--consumer-property', or via "
            f"'--consumer.config') do not match. Detected group ids: {listed}"
        )
    if groups and options.partition is not None:
        raise WrongUsage("Options group and partition cannot be specified together.")
    settings = in_file | given
    reset = settings.setdefault("auto.offset.reset", "earliest" if options.from_beginning else "latest")
    if options.from_beginning and reset != "earliest":
        raise ToolFailed(
            f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={reset}', please remove one option"
        )
    settings.setdefault("client.id", "console-consumer")
    if options.isolation_level is not None:
        settings["isolation.level"] = options.isolation_level
    if groups:
        return settings | {"group.id": groups[0]}
    # Nobody will ever ask for the offsets of a group that is never used again.
    settings.setdefault("enable.auto.commit", "false")
    return settings | {"group.id": f"console-consumer-{random.randrange(GROUPS_MAX)}"}


def run(options: Namespace) -> int:
    check(options)
    settings = consumer_settings(options)
    if options.zookeeper:
        print(DEPRECATED)
    settings["bootstrap.servers"] = bootstrap_servers(options)

    from moldau.cli.kafka.formatters import formatter_of

    properties: dict[str, object] = merged(options.formatter_config, [])
    for name in ("key", "value"):
        if has(options, f"{name}-deserializer"):
            properties[f"{name}.deserializer"] = getattr(options, f"{name}_deserializer")
    formatter = formatter_of(options.formatter, properties | merged(None, options.property_all))
    reading = Reading(options, formatter, sys.stdout.buffer)

    from moldau.clients.consumer.plain import Consumer

    try:
        with Consumer(settings) as consumer:
            reading.begin(consumer)
            reading.go_on(consumer)
    finally:
        sys.stdout.flush()
        print(f"Processed a total of {reading.count} messages", file=sys.stderr)
        if options.enable_systest_events:
            print("shutdown_complete")
    return FAILED if reading.failed else 0


class Reading:
    """Reads and prints; `count` records so far."""

    def __init__(self, options: Namespace, formatter: Formatter, output: BinaryIO) -> None:
        self.count = 0
        self.failed = False
        self._options = options
        self._formatter = formatter
        self._output = output
        self._clock = SystemClock()

    def begin(self, consumer: Consumer) -> None:
        """Take a partition, or be a member of the group."""
        options = self._options
        if options.partition is not None:
            partition = (options.topic, options.partition)
            consumer.assign([partition])
            offset = (options.offset or ("earliest" if options.from_beginning else "latest")).lower()
            if offset == "earliest":
                consumer.seek_to_beginning([partition])
            elif offset == "latest":
                consumer.seek_to_end([partition])
            else:
                consumer.seek(partition, int(offset))
        elif options.topic is not None:
            consumer.subscribe([options.topic])
        else:
            consumer.subscribe(re.compile(options.include or options.whitelist))

    def go_on(self, consumer: Consumer) -> None:
        """Until enough has come, or nothing for too long."""
        limit = self._options.max_messages
        timeout_ms = self._options.timeout_ms
        last_ms = self._clock.monotonic_ms()
        while limit is None or limit < 0 or self.count < limit:
            records = consumer.poll(POLL_S if timeout_ms is None else min(POLL_S, max(timeout_ms, 0) / 1000))
            if not records:
                if timeout_ms is not None and timeout_ms >= 0 and self._clock.monotonic_ms() - last_ms > timeout_ms:
                    print("ERROR Error processing message, terminating consumer process: timed out", file=sys.stderr)
                    return
                continue
            left = len(records) if limit is None or limit < 0 else limit - self.count
            for record in records[:left]:
                self.count += 1
                try:
                    self._output.write(self._formatter.format(record))
                except (ValueError, TypeError, LookupError) as error:
                    print(f"ERROR Error processing message: {text_of(error)}", file=sys.stderr)
                    if not self._options.skip_message_on_error:
                        self.failed = True
                        return
            self._output.flush()
            unread: dict[tuple[str, int], int] = {}
            for record in records[left:]:  # what was not printed must not be committed
                unread.setdefault((record.topic, record.partition), record.offset)
            for partition, offset in unread.items():
                consumer.seek(partition, offset)
            last_ms = self._clock.monotonic_ms()


TOOL = Tool(
    "kafka-console-consumer",
    "Read data from Kafka topics and write it to standard output.",
    add_options,
    run,
    (
        "--bootstrap-server localhost:9092 --topic orders --from-beginning",
        "--bootstrap-server localhost:9092 --topic orders --partition 0 --offset 5 --max-messages 1",
        "--bootstrap-server localhost:9092 --topic orders --property print.key=true --property print.timestamp=true",
    ),
)
main = TOOL.main
