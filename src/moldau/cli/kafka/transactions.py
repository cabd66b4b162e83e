"""`kafka-transactions`: list and describe transactions and producers, find those that hang, and end them (KIP-664)."""

from __future__ import annotations

from argparse import Namespace

from moldau.cli.kafka.connecting import Connection, add_connection_options, with_connection
from moldau.cli.kafka.failures import WrongUsage
from moldau.cli.kafka.parser import ToolParser, require
from moldau.cli.kafka.tool import Tool

COMMANDS = ("list", "describe", "describe-producers", "find-hanging", "abort", "forceTerminateTransaction")
NEEDS = {
    "describe": ("transactional-id",),
    "describe-producers": ("topic", "partition"),
    "abort": ("topic", "partition"),
    "forceTerminateTransaction": ("transactional-id",),
}


def add_options(parser: ToolParser) -> None:
    parser.add_argument("command", choices=COMMANDS, help="what to do")
    add_connection_options(parser)
    parser.option("transactional-id", "the transactional id", metavar="ID")
    parser.option("topic", "the topic", metavar="TOPIC")
    parser.option("partition", "its partition", metavar="N", type=int)
    parser.option(
        "broker-id", "as this broker sees it; with find-hanging only partitions of it", metavar="ID", type=int
    )
    parser.option("duration-filter", "list only transactions that are older", metavar="MS", type=int)
    parser.option("max-transaction-timeout", "how old one is that hangs, 15 unless said", metavar="MINUTES", type=int)
    parser.option("start-offset", "abort the transaction that began at this offset", metavar="N", type=int)
    parser.option("producer-id", "abort the transaction of this producer", metavar="N", type=int)
    parser.option("producer-epoch", "its epoch", metavar="N", type=int)
    parser.option("coordinator-epoch", "the epoch of its coordinator", metavar="N", type=int)


def run(options: Namespace) -> int:
    require(options, "bootstrap-server", *NEEDS.get(options.command, ()))
    if options.partition is not None and options.topic is None:
        raise WrongUsage("The --partition argument requires --topic to be provided")

    async def work(connection: Connection) -> int:
        from moldau.cli.kafka import transaction_reports as reports

        commands = {
            "list": reports.list_transactions,
            "describe": reports.describe,
            "describe-producers": reports.describe_producers,
            "find-hanging": reports.find_hanging,
            "abort": reports.abort,
            "forceTerminateTransaction": reports.terminate,
        }
        await commands[options.command](connection, options)
        return 0

    return with_connection(options, work)


TOOL = Tool(
    "kafka-transactions",
    "Analyze the transactional state of producers in the cluster, and recover from hanging transactions.",
    add_options,
    run,
    (
        "list --bootstrap-server localhost:9092",
        "describe --transactional-id orders-1 --bootstrap-server localhost:9092",
        "find-hanging --bootstrap-server localhost:9092",
    ),
)
main = TOOL.main
