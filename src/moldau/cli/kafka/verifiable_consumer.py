"""`kafka-verifiable-consumer`: read in a group, and tell of every rebalance, record and commit."""

from __future__ import annotations

from argparse import Namespace

from moldau.cli.kafka.connecting import bootstrap_servers, settings_in
from moldau.cli.kafka.failures import text_of
from moldau.cli.kafka.parser import ToolParser, require
from moldau.cli.kafka.tool import Tool

POLL_S = 0.2
SESSION_MS = 30_000


def add_options(parser: ToolParser) -> None:
    parser.option(
        "bootstrap-server", "where the cluster is: brokers to connect to", "broker-list", metavar="HOST:PORT,…"
    )
    parser.option("topic", "the topic to read", metavar="TOPIC")
    parser.option("group-id", "the group", metavar="GROUP")
    parser.option("group-instance-id", "the id of a static member", metavar="ID")
    parser.option("group-protocol", "classic or consumer", metavar="PROTOCOL")
    parser.option("group-remote-assignor", "the assignor, with the protocol consumer", metavar="NAME")
    parser.option("max-messages", "how many records to read; -1 is without end", metavar="N", type=int)
    parser.option("session-timeout", f"the session's timeout, {SESSION_MS} unless said", metavar="MS", type=int)
    parser.flag("verbose", "tell of each record")
    parser.flag("enable-autocommit", "let the consumer commit by itself")
    parser.option("reset-policy", "earliest, latest or none; earliest unless said", metavar="POLICY")
    parser.option("assignment-strategy", "the class of the assignor", metavar="CLASS")
    parser.option("consumer.config", "a file with settings of the consumer", metavar="FILE")


def settings_of(options: Namespace) -> dict[str, object]:
    settings = settings_in(options.consumer_config)
    settings |= {
        "bootstrap.servers": bootstrap_servers(options),
        "group.id": options.group_id,
        "enable.auto.commit": str(options.enable_autocommit).lower(),
        "auto.offset.reset": options.reset_policy or "earliest",
    }
    optional = {
        "group.instance.id": options.group_instance_id,
        "group.protocol": options.group_protocol,
        "group.remote.assignor": options.group_remote_assignor,
        "partition.assignment.strategy": options.assignment_strategy,
    }
    if (options.group_protocol or "classic") == "classic":
        optional["session.timeout.ms"] = str(options.session_timeout or SESSION_MS)
    return settings | {name: value for name, value in optional.items() if value is not None}


def run(options: Namespace) -> int:
    require(options, "topic", "group-id")
    settings = settings_of(options)

    from moldau.cli.kafka.verifiable_events import tell
    from moldau.cli.kafka.verifiable_reading import Rebalances, summaries, told_commit
    from moldau.clients.consumer.plain import Consumer

    limit = -1 if options.max_messages is None else options.max_messages
    count = 0
    try:
        with Consumer(settings) as consumer:
            consumer.subscribe([options.topic], Rebalances())
            tell("startup_complete")
            while limit < 0 or count < limit:
                records = consumer.poll(POLL_S)
                if limit >= 0:
                    records = records[: limit - count]
                if not records:
                    continue
                count += len(records)
                tell("records_consumed", count=len(records), partitions=summaries(records))
                if options.verbose:
                    for each in records:
                        key, value = (
                            None if part is None else part.decode(errors="replace") for part in (each.key, each.value)
                        )
                        place = {"topic": each.topic, "partition": each.partition, "offset": each.offset}
                        tell("record_data", key=key, value=value, **place)
                if not options.enable_autocommit:
                    told_commit(consumer, records, text_of)
    except KeyboardInterrupt:
        pass
    tell("shutdown_complete")
    return 0


TOOL = Tool(
    "kafka-verifiable-consumer",
    "Consume messages from a specific topic and emit consumer events, as JSON objects, to standard output.",
    add_options,
    run,
    ("--bootstrap-server localhost:9092 --topic orders --group-id billing --max-messages 10",),
)
main = TOOL.main
