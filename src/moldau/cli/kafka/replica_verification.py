"""`kafka-replica-verification`: compare what the replicas of partitions hold, again and again, until it is stopped."""

from __future__ import annotations

from argparse import Namespace

from moldau.cli.kafka.connecting import Connection, add_connection_options, with_connection
from moldau.cli.kafka.parser import ToolParser
from moldau.cli.kafka.tool import Tool

REPORT_MS = 30_000
FETCH_BYTES = 1024 * 1024


def add_options(parser: ToolParser) -> None:
    add_connection_options(parser, "broker-list")
    parser.option("topics-include", "topics, as a regular expression; else all", "topic-white-list", metavar="PATTERN")
    parser.option("time", "where to begin: -1 at the end, which is the default, -2 at the first record", type=int)
    parser.option("fetch-size", f"bytes of a partition at a time, {FETCH_BYTES} unless said", metavar="N", type=int)
    parser.option("report-interval-ms", f"how often to report, {REPORT_MS} unless said", metavar="MS", type=int)
    parser.ignored("max-wait-ms", value=True)


def run(options: Namespace) -> int:
    async def work(connection: Connection) -> int:
        from moldau.cli.kafka.replica_comparison import compare_for_ever

        await compare_for_ever(
            connection,
            options.topics_include or ".*",
            -1 if options.time is None else options.time,
            options.fetch_size or FETCH_BYTES,
            REPORT_MS if options.report_interval_ms is None else options.report_interval_ms,
        )
        return 0

    return with_connection(options, work)


TOOL = Tool(
    "kafka-replica-verification",
    "Validate that all replicas for a set of topics have the same data.",
    add_options,
    run,
    ("--broker-list localhost:9092 --topics-include orders --time -2",),
)
main = TOOL.main
