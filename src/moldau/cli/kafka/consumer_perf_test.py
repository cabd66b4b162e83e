"""`kafka-consumer-perf-test`: how many records a second can be read."""

from __future__ import annotations

import random
from argparse import Namespace

from moldau.base.clock import SystemClock
from moldau.cli.kafka.connecting import bootstrap_servers
from moldau.cli.kafka.parser import ToolParser, require
from moldau.cli.kafka.properties import merged
from moldau.cli.kafka.tool import Tool

MEGABYTE = 1024 * 1024
POLL_S = 0.1
TIMEOUT_MS = 10_000
INTERVAL_MS = 5_000
DATE_FORMAT = "yyyy-MM-dd HH:mm:ss:SSS"
COLUMNS = "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec"
NEW_COLUMNS = ", rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"


def add_options(parser: ToolParser) -> None:
    parser.option(
        "bootstrap-server", "where the cluster is: brokers to connect to", "broker-list", metavar="HOST:PORT,…"
    )
    parser.option("zookeeper", "the ZooKeeper that knows the brokers, for scripts of older days", metavar="HOST:PORT")
    parser.option("topic", "the topic to read", metavar="TOPIC")
    parser.option("messages", "how many records to read", metavar="N", type=int)
    parser.option("group", "the group to read in; else it is a new one", metavar="GROUP")
    parser.option("fetch-size", "the consumer's max.partition.fetch.bytes, 1048576 unless said", metavar="N", type=int)
    parser.option("socket-buffer-size", "the consumer's receive.buffer.bytes", metavar="N", type=int)
    parser.flag("from-latest", "begin with the next record, if the group has not read before")
    parser.option("consumer.config", "a file with settings of the consumer", metavar="FILE")
    parser.option(
        "timeout", f"end when no record has come for so long, {TIMEOUT_MS} unless said", metavar="MS", type=int
    )
    parser.flag("show-detailed-stats", "a line for every interval")
    parser.option("reporting-interval", f"how long it is, {INTERVAL_MS} unless said", metavar="MS", type=int)
    parser.option("date-format", "how times are printed, in Java's letters", metavar="FORMAT")
    parser.flag("hide-header", "do not print the names of the columns")
    parser.flag("print-metrics", "print the consumer's metrics at the end")
    parser.ignored("threads", "num-fetch-threads", "message-size", value=True)
    parser.ignored("new-consumer")


def run(options: Namespace) -> int:
    require(options, "topic", "messages")
    settings = merged(options.consumer_config, [])
    settings |= {
        "bootstrap.servers": bootstrap_servers(options),
        "group.id": options.group or f"perf-consumer-{random.randrange(100_000)}",
        "max.partition.fetch.bytes": options.fetch_size or MEGABYTE,
        "receive.buffer.bytes": options.socket_buffer_size or 2 * MEGABYTE,
        "auto.offset.reset": "latest" if options.from_latest else "earliest",
        "check.crcs": "false",
    }
    settings.setdefault("client.id", "perf-consumer-client")
    if not options.hide_header:
        first = "time, threadId" if options.show_detailed_stats else "start.time, end.time"
        print(f"{first}, {COLUMNS}{'' if options.zookeeper else NEW_COLUMNS}", flush=True)

    from moldau.cli.kafka.consumer_progress import Progress
    from moldau.clients.consumer.plain import Consumer

    with Consumer(settings) as consumer:
        progress = Progress(options.date_format or DATE_FORMAT, SystemClock())
        consumer.subscribe([options.topic], progress)
        timeout_ms = TIMEOUT_MS if options.timeout is None else options.timeout
        interval_ms = INTERVAL_MS if options.reporting_interval is None else options.reporting_interval
        clock = SystemClock()
        last_ms = clock.monotonic_ms()
        while progress.records < options.messages and clock.monotonic_ms() - last_ms <= timeout_ms:
            records = consumer.poll(POLL_S)
            if records:
                last_ms = clock.monotonic_ms()
                progress.records += len(records)
                progress.bytes += sum(len(each.value or b"") + len(each.key or b"") for each in records)
            if options.show_detailed_stats and progress.is_due(interval_ms):
                progress.report()
        total = progress.total(with_new_columns=not options.zookeeper)
        metrics = consumer.metrics() if options.print_metrics else {}
    if progress.records < options.messages:
        print(
            f"WARNING: Exiting before consuming the expected number of messages: timeout ({timeout_ms} ms) exceeded. "
            "You can use the --timeout option to increase the timeout."
        )
    if not options.show_detailed_stats:
        print(total)
    for name in sorted(metrics):
        print(f"{name:<60} : {metrics[name]:.3f}")
    return 0


TOOL = Tool(
    "kafka-consumer-perf-test",
    "Verify the performance of consumers.",
    add_options,
    run,
    ("--bootstrap-server localhost:9092 --topic orders --messages 500000",),
)
main = TOOL.main
