"""`kafka-consumer-offset-checker`: how far a group is, as Kafka before 0.9 told it. Kafka had it until 1.0."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from moldau.cli.kafka.connecting import Connection, add_connection_options, with_connection
from moldau.cli.kafka.failures import ToolFailed
from moldau.cli.kafka.parser import ToolParser, require
from moldau.cli.kafka.tables import table
from moldau.cli.kafka.tool import Tool

if TYPE_CHECKING:
    from moldau.clients.records import TopicPartition

DEPRECATED = (
    "WARN WARNING: ConsumerOffsetChecker is deprecated and will be dropped in releases following 0.9.0. Use "
    "ConsumerGroupCommand instead. (kafka.tools.ConsumerOffsetChecker$)"
)
HEADER = ("Group", "Topic", "Pid", "Offset", "logSize", "Lag", "Owner")
NOBODY = "none"


def add_options(parser: ToolParser) -> None:
    add_connection_options(parser, zookeeper=True)
    parser.option("group", "the group", metavar="GROUP")
    parser.option("topic", "only these topics", metavar="TOPIC,…")
    parser.flag("broker-info", "print the brokers too")
    parser.ignored("socket.timeout.ms", "retry.backoff.ms", value=True)


def run(options: Namespace) -> int:
    require(options, "group")
    print(DEPRECATED, file=sys.stderr)
    kept = _kept_in_zookeeper(options) if options.zookeeper else {}

    async def work(connection: Connection) -> int:
        from moldau.cli.kafka.group_reports import descriptions, end_offsets
        from moldau.clients.admin.group_offsets import GroupOffsetOperations

        group = options.group
        found = await connection.use(GroupOffsetOperations).list_consumer_group_offsets([group])
        offsets = {
            partition: (each.offset, NOBODY) for partition, each in found[group].items() if each is not None
        } | kept
        topics = options.topic.split(",") if options.topic else None
        chosen = sorted(each for each in offsets if topics is None or each.topic in topics)
        if not chosen:
            raise ToolFailed(f"The group {group} has committed nothing{' for these topics' if topics else ''}.")
        ends = await end_offsets(connection, set(chosen), 5.0)
        described = (await descriptions(connection, [group], 5.0))[group]
        owners = (
            {}
            if described is None
            else {partition: member.member_id for member in described.members for partition in member.assignment}
        )
        rows = []
        for partition in chosen:
            offset, owner = offsets[partition]
            end = ends.get(partition)
            lag = "unknown" if end is None else end - offset
            rows.append(
                (group, *partition, offset, "unknown" if end is None else end, lag, owners.get(partition, owner))
            )
        print(table(HEADER, rows, (-15, -30, 3, -15, -15, -15, 0)))
        if options.broker_info:
            await _print_brokers(connection)
        return 0

    return with_connection(options, work)


async def _print_brokers(connection: Connection) -> None:
    from moldau.clients.admin.cluster_operations import ClusterOperations

    print("BROKER INFO")
    for node in await connection.use(ClusterOperations).list_nodes():
        print(f"{node.id} -> {node.host}:{node.port}")


def _kept_in_zookeeper(options: Namespace) -> dict[TopicPartition, tuple[int, str]]:
    """Offsets and owners of consumers of the days when they kept them there."""
    from moldau.cli.kafka.zookeeper import connected, text_at
    from moldau.clients.records import TopicPartition

    root = f"/consumers/{options.group}"
    kept = {}
    with connected(options.zookeeper) as client:
        for topic in client.get_children(f"{root}/offsets") if client.exists(f"{root}/offsets") else []:
            for number in client.get_children(f"{root}/offsets/{topic}"):
                offset = text_at(client, f"{root}/offsets/{topic}/{number}")
                owner = text_at(client, f"{root}/owners/{topic}/{number}")
                if offset is not None:
                    kept[TopicPartition(topic, int(number))] = (int(offset), owner or NOBODY)
    return kept


TOOL = Tool(
    "kafka-consumer-offset-checker",
    "Check the offset of your consumers.",
    add_options,
    run,
    ("--bootstrap-server localhost:9092 --group billing", "--zookeeper localhost:2181 --group billing --topic orders"),
)
main = TOOL.main
