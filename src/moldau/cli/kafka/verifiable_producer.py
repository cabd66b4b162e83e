"""`kafka-verifiable-producer`: write numbers, and tell of each whether it was acknowledged."""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from itertools import count

from moldau.base.clock import SystemClock
from moldau.cli.kafka.connecting import bootstrap_servers, settings_in
from moldau.cli.kafka.failures import text_of
from moldau.cli.kafka.parser import ToolParser, require
from moldau.cli.kafka.tool import Tool


def add_options(parser: ToolParser) -> None:
    parser.option(
        "bootstrap-server", "where the cluster is: brokers to connect to", "broker-list", metavar="HOST:PORT,…"
    )
    parser.option("topic", "the topic to write to", metavar="TOPIC")
    parser.option("max-messages", "how many records to write; -1 is without end", metavar="N", type=int)
    parser.option("throughput", "at most so many a second; -1 is as many as can be", metavar="N", type=int)
    parser.option("acks", "0, 1 or -1, which is the default", metavar="ACKS")
    parser.option("producer.config", "a file with settings of the producer", metavar="FILE")
    parser.option("message-create-time", "the timestamp of the first record", metavar="MS", type=int)
    parser.option("value-prefix", "values are this, a dot and a number", metavar="N", type=int)
    parser.option("repeating-keys", "keys are numbers below this, again and again", metavar="N", type=int)


def run(options: Namespace) -> int:
    require(options, "topic")
    settings = settings_in(options.producer_config)
    settings |= {"bootstrap.servers": bootstrap_servers(options), "acks": options.acks or "-1", "retries": 0}

    from threading import Event

    from moldau.cli.kafka.verifiable_events import tell
    from moldau.clients.producer.plain import Producer
    from moldau.clients.records import RecordMetadata

    clock = SystemClock()
    acked = sent = 0
    throughput = -1 if options.throughput is None else options.throughput

    def delivered(key: str | None, value: str, metadata: RecordMetadata | None, error: Exception | None) -> None:
        nonlocal acked
        if error is None and metadata is not None:
            acked += 1
            place = {"topic": metadata.topic, "partition": metadata.partition, "offset": metadata.offset}
            tell("producer_send_success", key=key, value=value, **place)
        elif error is not None:
            kind = f"class {type(error).__name__}"
            tell(
                "producer_send_error", key=key, value=value, topic=options.topic, exception=kind, message=text_of(error)
            )

    tell("startup_complete")
    started_ms = clock.monotonic_ms()
    limit = -1 if options.max_messages is None else options.max_messages
    try:
        with Producer(settings) as producer:
            for number in count() if limit < 0 else range(limit):
                value = str(number) if options.value_prefix is None else f"{options.value_prefix}.{number}"
                key = None if options.repeating_keys is None else str(number % options.repeating_keys)
                first_ms = options.message_create_time
                time_ms = None if first_ms is None else first_ms + round(clock.monotonic_ms() - started_ms)
                sent += 1
                producer.send(
                    options.topic,
                    value,
                    key,
                    timestamp=time_ms,
                    on_delivery=partial(delivered, key, value),
                )
                ahead_ms = sent * 1000 / throughput - (clock.monotonic_ms() - started_ms) if throughput > 0 else 0
                if ahead_ms > 0:
                    Event().wait(ahead_ms / 1000)
    except KeyboardInterrupt:
        pass
    tell("shutdown_complete")
    seconds = max(clock.monotonic_ms() - started_ms, 1.0) / 1000
    tell("tool_data", sent=sent, acked=acked, target_throughput=throughput, avg_throughput=acked / seconds)
    return 0 if acked == sent else 1


TOOL = Tool(
    "kafka-verifiable-producer",
    "Produce increasing integers to the specified topic and print JSON metadata to standard output on each send.",
    add_options,
    run,
    ("--bootstrap-server localhost:9092 --topic orders --max-messages 10",),
)
main = TOOL.main
