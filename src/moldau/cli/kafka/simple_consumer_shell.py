"""`kafka-simple-consumer-shell`: read one partition from an offset, without a group. Kafka had it until 2.0."""

from __future__ import annotations

import sys
from argparse import Namespace

from moldau.cli.kafka.connecting import bootstrap_servers
from moldau.cli.kafka.failures import ToolFailed
from moldau.cli.kafka.parser import ToolParser, require
from moldau.cli.kafka.properties import pairs
from moldau.cli.kafka.tool import Tool

POLL_S = 0.2
EARLIEST, LATEST = -2, -1
# As books show it; the console consumer prints the newer form under the same name.
OLD_NAMES = {
    "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter": (
        "kafka.coordinator.GroupMetadataManager$OffsetsMessageFormatter"
    )
}


def add_options(parser: ToolParser) -> None:
    parser.option(
        "broker-list", "where the cluster is: brokers to connect to", "bootstrap-server", metavar="HOST:PORT,…"
    )
    parser.option("topic", "the topic", metavar="TOPIC")
    parser.option("partition", "its partition, 0 unless said", metavar="N", type=int)
    parser.option("offset", "where to begin: an offset, -2 for the first, -1 for the end; -2 unless said", type=int)
    parser.option("max-messages", "end after so many records", metavar="N", type=int)
    parser.option("formatter", "how records are printed", metavar="CLASS")
    parser.repeated("property", "a property of the formatter; may be repeated", metavar="NAME=VALUE")
    parser.flag("print-offsets", "print the offset before each record")
    parser.flag("no-wait-at-logend", "end at the end of the partition")
    parser.flag("skip-message-on-error", "go on behind a record that cannot be printed")
    parser.ignored("replica", "fetchsize", "clientId", "max-wait-ms", value=True)


def run(options: Namespace) -> int:
    require(options, "topic")
    options.bootstrap_server = options.broker_list
    servers = bootstrap_servers(options)

    from moldau.cli.kafka.formatters import formatter_of
    from moldau.clients.consumer.plain import Consumer
    from moldau.clients.records import TopicPartition

    name = None if options.formatter is None else options.formatter.replace("\\$", "$")
    formatter = formatter_of(OLD_NAMES.get(name, name) if name else None, pairs(options.property_all))
    partition = TopicPartition(options.topic, options.partition or 0)
    output = sys.stdout.buffer
    with Consumer(bootstrap_servers=servers, client_id="SimpleConsumerShell", enable_auto_commit=False) as consumer:
        numbers = {each.partition for each in consumer.partitions_for(partition.topic)}
        if partition.partition not in numbers:
            raise ToolFailed(f"Error: partition {partition.partition} does not exist for topic {partition.topic}")
        consumer.assign([partition])
        end = consumer.end_offsets([partition])[partition]
        begin = EARLIEST if options.offset is None else options.offset
        if begin == EARLIEST:
            consumer.seek_to_beginning([partition])
        else:
            consumer.seek(partition, end if begin == LATEST else begin)
        count = 0
        while options.max_messages is None or options.max_messages < 0 or count < options.max_messages:
            if options.no_wait_at_logend and consumer.position(partition) >= end:
                print(f"Reached the end of the log: partition {partition} has the offset {end} next", file=sys.stderr)
                break
            for record in consumer.poll(POLL_S):
                if options.max_messages is not None and 0 <= options.max_messages <= count:
                    break
                count += 1
                if options.print_offsets:
                    output.write(b"next offset = %d\n" % (record.offset + 1))
                output.write(formatter.format(record))
            output.flush()
    return 0


TOOL = Tool(
    "kafka-simple-consumer-shell",
    "A low-level tool for fetching data directly from a particular partition.",
    add_options,
    run,
    ("--broker-list localhost:9092 --topic orders --partition 0 --offset -2 --no-wait-at-logend",),
)
main = TOOL.main
