"""`kafka-log-dirs`: what is in the log directories of brokers, as JSON."""

from __future__ import annotations

from argparse import Namespace

from moldau.cli.kafka.connecting import Connection, add_connection_options, with_connection
from moldau.cli.kafka.failures import ToolFailed, WrongUsage
from moldau.cli.kafka.parser import ToolParser, require
from moldau.cli.kafka.tool import Tool


def add_options(parser: ToolParser) -> None:
    add_connection_options(parser)
    parser.flag("describe", "describe the log directories")
    parser.option("topic-list", "only partitions of these topics", metavar="TOPIC,…")
    parser.option("broker-list", "only these brokers", metavar="ID,…")


def run(options: Namespace) -> int:
    require(options, "bootstrap-server", "describe")
    topics = [each for each in (options.topic_list or "").split(",") if each]
    try:
        wanted = [int(each) for each in (options.broker_list or "").split(",") if each]
    except ValueError:
        raise WrongUsage(f"--broker-list expects ids of brokers, but received: {options.broker_list}") from None

    async def work(connection: Connection) -> int:
        import json

        from moldau.clients.admin.cluster_operations import ClusterOperations
        from moldau.clients.admin.log_dirs import LogDirOperations

        living = [node.id for node in await connection.use(ClusterOperations).list_nodes()]
        if missing := [each for each in wanted if each not in living]:
            raise ToolFailed(
                f"ERROR: The given brokers do not exist from --broker-list: {','.join(map(str, missing))}. "
                f"Current existent brokers: {','.join(map(str, living))}"
            )
        brokers = wanted or living
        print("Querying brokers for log directories information")
        described = await connection.use(LogDirOperations).describe_log_dirs(brokers)
        print(f"Received log directory information from brokers {','.join(map(str, brokers))}")
        document = {
            "brokers": [
                {
                    "broker": broker,
                    "logDirs": [
                        {
                            "partitions": [
                                {
                                    "partition": str(partition),
                                    "size": info.size,
                                    "offsetLag": info.offset_lag,
                                    "isFuture": info.is_future,
                                }
                                for partition, info in sorted(each.replica_infos.items())
                                if not topics or partition.topic in topics
                            ],
                            "error": None if each.error is None else each.error.code.name,
                            "logDir": path,
                        }
                        for path, each in directories.items()
                    ],
                }
                for broker, directories in described.items()
            ],
            "version": 1,
        }
        print(json.dumps(document, separators=(",", ":")))
        return 0

    return with_connection(options, work)


TOOL = Tool(
    "kafka-log-dirs",
    "Query log directory usage on the specified brokers.",
    add_options,
    run,
    (
        "--bootstrap-server localhost:9092 --describe",
        "--bootstrap-server localhost:9092 --describe --topic-list orders",
    ),
)
main = TOOL.main
