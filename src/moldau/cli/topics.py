"""`moldau topics`: what topics there are, and how they are."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from moldau.cli.cluster_arguments import add_cluster_arguments
from moldau.cli.command import Command, CommandGroup
from moldau.cli.topic_changes import ALTER, CREATE, DELETE, MOVE

if TYPE_CHECKING:
    from moldau.cli.kafka.connecting import Connection
    from moldau.clients.admin.topic_descriptions import TopicDescription


def add_list_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("pattern", nargs="?", default="*", help="a name, or a pattern with * and ?")
    parser.add_argument("--internal", action="store_true", help="also those that Kafka has for itself")
    add_cluster_arguments(parser)


def run_list(arguments: Namespace) -> int:
    from moldau.cli.kafka.connecting import with_connection

    async def work(connection: Connection) -> int:
        from moldau.cli.terminal.tables import Column, alarming, count, print_rows

        described = await matching(connection, arguments.pattern, internal=arguments.internal)
        rows = [
            {
                "topic": each.name,
                "partitions": len(each.partitions),
                "replication_factor": max((len(info.replicas) for info in each.partitions), default=0),
                "under_replicated": sum(len(info.isr) < len(info.replicas) for info in each.partitions),
                "without_leader": sum(info.leader is None for info in each.partitions),
                "internal": each.is_internal,
            }
            for each in described
        ]
        columns = (
            Column("topic", "TOPIC"),
            Column("partitions", "PARTITIONS", count),
            Column("replication_factor", "REPLICAS", count),
            Column("under_replicated", "UNDER-REPLICATED", count, alarming()),
            Column("without_leader", "WITHOUT-LEADER", count, alarming()),
        )
        print_rows(rows, columns, as_json=arguments.json)
        return 0

    return with_connection(arguments, work)


async def matching(connection: Connection, pattern: str, *, internal: bool) -> list[TopicDescription]:
    """The topics whose names match, described."""
    from moldau.clients.admin.topic_descriptions import TopicDescriptionOperations
    from moldau.clients.admin.topics import TopicOperations

    listed = await connection.use(TopicOperations).list_topics(list_internal=internal)
    names = sorted(name for name in listed if fnmatchcase(name, pattern))
    # A topic may have been deleted since it was listed.
    results = await connection.use(TopicDescriptionOperations).describe_topics(names, raise_errors=False)
    return [results.succeeded[name] for name in names if name in results.succeeded]


def add_describe_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("topic", nargs="+", help="names of topics")
    add_cluster_arguments(parser)


def run_describe(arguments: Namespace) -> int:
    from moldau.cli.kafka.connecting import with_connection

    async def work(connection: Connection) -> int:
        from moldau.cli.terminal.tables import print_json, print_rows
        from moldau.cli.topic_details import PARTITION_COLUMNS, details_of

        found = await details_of(connection, arguments.topic)
        if arguments.json:
            print_json(found)
            return 0
        for number, topic in enumerate(found):
            settings = " ".join(f"{name}={value}" for name, value in topic["config"].items()) or "defaults"
            title = f"{topic['topic']} ({topic['id']}): {settings}"
            print("\n" * (number > 0), end="")
            print_rows(topic["partitions"], PARTITION_COLUMNS, title=title)
        return 0

    return with_connection(arguments, work)


COMMAND = CommandGroup(
    "topics",
    "List, describe, create, alter, move and delete topics.",
    (
        Command(
            "topics list",
            "the topics of a cluster",
            add_list_arguments,
            run_list,
            [
                ("moldau topics list", "all topics, with their partitions and replicas"),
                ("moldau topics list 'order*' --json", "those that match, as JSON"),
            ],
        ),
        Command(
            "topics describe",
            "the partitions of topics: leaders, replicas, offsets, sizes",
            add_describe_arguments,
            run_describe,
            [("moldau topics describe orders", "where its partitions are, and what is in them")],
        ),
        CREATE,
        ALTER,
        MOVE,
        DELETE,
    ),
)
