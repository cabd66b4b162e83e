"""`kafka-preferred-replica-election`: the older name of `kafka-leader-election`, for preferred replicas."""

from __future__ import annotations

from argparse import Namespace

from moldau.cli.kafka.connecting import Connection, add_connection_options, with_connection
from moldau.cli.kafka.leader_election import elect, partitions_in
from moldau.cli.kafka.parser import ToolParser
from moldau.cli.kafka.tool import Tool


def add_options(parser: ToolParser) -> None:
    add_connection_options(parser, zookeeper=True)
    parser.option("admin.config", "the same as --command-config", metavar="FILE")
    parser.option(
        "path-to-json-file",
        'a file with {"partitions":[{"topic":"orders","partition":0}]}; else all partitions',
        metavar="FILE",
    )


def run(options: Namespace) -> int:
    options.command_config = options.command_config or options.admin_config
    partitions = None if options.path_to_json_file is None else partitions_in(options.path_to_json_file)

    async def work(connection: Connection) -> int:
        if options.zookeeper is None:
            return await elect(connection, "PREFERRED", partitions)
        return await _elect_as_before(connection, options.path_to_json_file)

    return with_connection(options, work)


async def _elect_as_before(connection: Connection, path: str | None) -> int:
    """What the tool printed when it only wrote a request into ZooKeeper."""
    import json

    from moldau.clients.admin.reassignments import ElectionType, ReassignmentOperations
    from moldau.clients.admin.topic_descriptions import TopicDescriptionOperations
    from moldau.clients.admin.topics import TopicOperations
    from moldau.clients.records import TopicPartition

    if path is None:
        topics = await connection.use(TopicOperations).list_topics(list_internal=True)
        described = await connection.use(TopicDescriptionOperations).describe_topics(topics)
        partitions = [
            TopicPartition(each.name, info.partition) for each in described.values() for info in each.partitions
        ]
    else:
        partitions = partitions_in(path)
    rows = [{"topic": topic, "partition": number} for topic, number in partitions]
    document = json.dumps({"version": 1, "partitions": rows}, separators=(",", ":"))
    await connection.use(ReassignmentOperations).elect_leaders(ElectionType.PREFERRED, partitions)
    print(f"Created preferred replica election path with {document}")
    listed = ", ".join(f"[{topic},{number}]" for topic, number in partitions)
    print(f"Successfully started preferred replica election for partitions Set({listed})")
    return 0


TOOL = Tool(
    "kafka-preferred-replica-election",
    "Let the preferred replicas of partitions lead again.",
    add_options,
    run,
    (
        "--bootstrap-server localhost:9092",
        "--bootstrap-server localhost:9092 --path-to-json-file partitions.json",
    ),
)
main = TOOL.main
