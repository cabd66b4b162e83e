"""`kafka-console-producer`: lines of standard input become records, until it ends."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

from moldau.cli.kafka.connecting import bootstrap_servers
from moldau.cli.kafka.failures import ToolFailed, text_of
from moldau.cli.kafka.parser import ToolParser, has, require
from moldau.cli.kafka.properties import merged
from moldau.cli.kafka.tool import FAILED, Tool

if TYPE_CHECKING:
    from moldau.cli.kafka.line_reader import Line, LineReader
    from moldau.clients.records import RecordMetadata

# Options that are settings of the producer, with the default of the tool where it has one of its own.
SETTINGS: dict[str, tuple[str, object]] = {
    "timeout": ("linger.ms", 1000),
    "request-required-acks": ("acks", "-1"),
    "request-timeout-ms": ("request.timeout.ms", 1500),
    "message-send-max-retries": ("retries", 3),
    "retry-backoff-ms": ("retry.backoff.ms", 100),
    "socket-buffer-size": ("send.buffer.bytes", 102400),
    "max-memory-bytes": ("buffer.memory", 33554432),
    "batch-size": ("batch.size", 16384),
    "max-partition-memory-bytes": ("batch.size", 16384),
    "metadata-expiry-ms": ("metadata.max.age.ms", 300000),
    "max-block-ms": ("max.block.ms", 60000),
}
LINE_READERS = ("kafka.tools.ConsoleProducer$LineMessageReader", "org.apache.kafka.tools.LineMessageReader")


def add_options(parser: ToolParser) -> None:
    parser.option("bootstrap-server", "where the cluster is: brokers to connect to", metavar="HOST:PORT,…")
    parser.option("broker-list", "the same, by its older name", metavar="HOST:PORT,…")
    parser.option("topic", "the topic to write to", metavar="TOPIC")
    parser.flag("sync", "wait for each record before the next line is read")
    parser.option(
        "compression-codec", "none, gzip, snappy, lz4 or zstd; gzip without a word", metavar="CODEC", may_be_empty=True
    )
    for name, (setting, default) in SETTINGS.items():
        parser.option(name, f"the producer's {setting}, {default} unless said", metavar="VALUE")
    parser.repeated(
        "property",
        "how lines are read: parse.key, key.separator, parse.headers, headers.delimiter, headers.separator, "
        "headers.key.separator, null.marker, ignore.error; may be repeated",
        metavar="NAME=VALUE",
    )
    parser.option("reader-config", "a file with such properties", metavar="FILE")
    parser.repeated("producer-property", "a setting of the producer; may be repeated", metavar="NAME=VALUE")
    parser.option("producer.config", "a file with settings of the producer", metavar="FILE")
    parser.option("line-reader", "a Python class that reads the input in place of lines", metavar="CLASS")
    parser.ignored("new-producer", "old-producer")
    parser.ignored("key-serializer", "value-serializer", "queue-size", "queue-enqueuetimeout-ms", value=True)


def producer_settings(options: Namespace) -> dict[str, object]:
    settings: dict[str, object] = {}
    for name, (setting, default) in SETTINGS.items():
        if not has(options, name):
            settings.setdefault(setting, default)
    settings |= merged(options.producer_config, options.producer_property_all)
    for name, (setting, _) in SETTINGS.items():
        if has(options, name):
            settings[setting] = getattr(options, name.replace("-", "_"))
    codec = options.compression_codec
    settings["compression.type"] = "none" if codec is None else codec or "gzip"
    settings.setdefault("client.id", "console-producer")
    return settings


def run(options: Namespace) -> int:
    require(options, "topic")
    options.bootstrap_server = options.bootstrap_server or options.broker_list
    settings = producer_settings(options) | {"bootstrap.servers": bootstrap_servers(options)}
    reader = _reader(options)

    from moldau.clients.producer.plain import Producer

    failures = _Failures(options.topic)
    with Producer(settings) as producer:
        for line in reader.lines(sys.stdin.buffer):
            future = producer.send(
                options.topic, line.value, line.key, line.headers or None, on_delivery=failures.watch(line)
            )
            if options.sync:
                future.result()
    return FAILED if failures.count else 0


class _Failures:
    """Tells of records that did not arrive: each once, by size, since the value may be anything."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.count = 0

    def watch(self, line: Line) -> Callable[[RecordMetadata | None, Exception | None], None]:
        def delivered(_metadata: RecordMetadata | None, error: Exception | None) -> None:
            if error is not None:
                self.count += 1
                print(
                    f"ERROR Error when sending message to topic {self.topic} with key: {_size(line.key)}, "
                    f"value: {_size(line.value)} with error: {text_of(error)}",
                    file=sys.stderr,
                )

        return delivered


def _size(data: bytes | None) -> str:
    return "null" if data is None else f"{len(data)} bytes"


def _reader(options: Namespace) -> LineReader:
    from moldau.cli.kafka.line_reader import LineReader

    properties = merged(options.reader_config, options.property_all)
    if options.line_reader is None or options.line_reader in LINE_READERS:
        return LineReader(properties, prompt=sys.stdin.isatty())
    from moldau.base.config.class_names import load_class

    made = load_class("line-reader", options.line_reader, {})
    reader = made()
    if not isinstance(reader, LineReader):
        raise ToolFailed(f"{options.line_reader} has to extend moldau.cli.kafka.line_reader.LineReader")
    return reader


TOOL = Tool(
    "kafka-console-producer",
    "Read data from standard input and publish it to Kafka.",
    add_options,
    run,
    (
        "--bootstrap-server localhost:9092 --topic orders",
        "--bootstrap-server localhost:9092 --topic orders --property parse.key=true --property key.separator=:",
    ),
)
main = TOOL.main
