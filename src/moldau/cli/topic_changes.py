"""`moldau topics create`, `alter`, `move`, `delete`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from moldau.base.errors import ConfigError
from moldau.cli.cluster_arguments import add_cluster_arguments, at_least, pairs
from moldau.cli.command import Command

if TYPE_CHECKING:
    from moldau.cli.kafka.connecting import Connection
    from moldau.clients.admin.topics import TopicOperations

LOOK_AGAIN_S = 0.2
DELETE_S_MAX = 60.0


def _add_settings(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--config", action="append", default=[], metavar="NAME=VALUE", help="a setting of the topic; may be repeated"
    )


def add_create_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("topic", nargs="+", help="names of topics")
    parser.add_argument(
        "--partitions", type=at_least(1), default=-1, metavar="N", help="how many; else the brokers' num.partitions"
    )
    parser.add_argument(
        "--replication-factor",
        type=at_least(1),
        default=-1,
        metavar="N",
        help="copies of each; else as brokers have it",
    )
    _add_settings(parser)
    parser.add_argument("--if-not-exists", action="store_true", help="leave a topic alone that is there already")
    add_cluster_arguments(parser)


def run_create(arguments: Namespace) -> int:
    from moldau.cli.kafka.connecting import with_connection

    settings = pairs(arguments.config, "setting")

    async def work(connection: Connection) -> int:
        from moldau.base.error_codes import ErrorCode
        from moldau.base.errors import ApiError
        from moldau.cli.terminal.tables import Column, count, print_rows
        from moldau.clients.admin.topics import NewTopic, TopicOperations

        topics = [
            NewTopic(name, arguments.partitions, arguments.replication_factor, configs=settings)
            for name in arguments.topic
        ]
        results = await connection.use(TopicOperations).create_topics(topics, raise_errors=False)
        rows = [
            {
                "topic": each.name,
                "id": each.topic_id,
                "partitions": each.num_partitions,
                "replication_factor": each.replication_factor,
            }
            for each in results.succeeded.values()
        ]
        columns = (
            Column("topic", "CREATED"),
            Column("partitions", "PARTITIONS", count),
            Column("replication_factor", "REPLICAS", count),
        )
        if rows or arguments.json:
            print_rows(rows, columns, as_json=arguments.json)
        for error in results.errors.values():
            exists = isinstance(error, ApiError) and error.code is ErrorCode.TOPIC_ALREADY_EXISTS
            if not (exists and arguments.if_not_exists):
                raise error
        return 0

    return with_connection(arguments, work)


def add_alter_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("topic", nargs="+", help="names of topics")
    parser.add_argument("--partitions", type=at_least(1), metavar="N", help="how many it is to have; never fewer")
    _add_settings(parser)
    parser.add_argument(
        "--reset", action="append", default=[], metavar="NAME", help="a setting that is to be default again"
    )
    add_cluster_arguments(parser)


def run_alter(arguments: Namespace) -> int:
    from moldau.cli.kafka.connecting import with_connection

    changes: dict[str, str | None] = {**pairs(arguments.config, "setting"), **dict.fromkeys(arguments.reset)}
    if not changes and arguments.partitions is None:
        raise ConfigError("nothing to change: say --partitions, --config or --reset")

    async def work(connection: Connection) -> int:
        from moldau.cli.terminal.tables import print_json
        from moldau.clients.admin.config_entries import ConfigResource
        from moldau.clients.admin.configs import ConfigOperations
        from moldau.clients.admin.topic_descriptions import TopicDescriptionOperations
        from moldau.clients.admin.topics import TopicOperations

        described = await connection.use(TopicDescriptionOperations).describe_topics(arguments.topic)
        if changes:
            resources = {ConfigResource.topic(name): changes for name in arguments.topic}
            await connection.use(ConfigOperations).incremental_alter_configs(resources)
        if arguments.partitions is not None:
            more = {
                name: arguments.partitions
                for name in arguments.topic
                if len(described[name].partitions) != arguments.partitions
            }
            if more:
                await connection.use(TopicOperations).create_partitions(more)
        if arguments.json:
            print_json([{"topic": name, "config": changes, "partitions": arguments.partitions} for name in described])
        else:
            print(f"changed: {', '.join(arguments.topic)}")
        return 0

    return with_connection(arguments, work)


def add_delete_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("topic", nargs="+", help="names of topics")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_cluster_arguments(parser)


def run_delete(arguments: Namespace) -> int:
    from moldau.cli.kafka.connecting import with_connection
    from moldau.cli.terminal.questions import confirm

    confirm(f"Delete {', '.join(arguments.topic)} with all records?", yes=arguments.yes)

    async def work(connection: Connection) -> int:
        from moldau.cli.terminal.tables import print_json
        from moldau.clients.admin.topics import TopicOperations

        operations = connection.use(TopicOperations)
        results = await operations.delete_topics(arguments.topic, raise_errors=False)
        await _until_gone(operations, set(results.succeeded))
        if arguments.json:
            print_json({"deleted": sorted(results.succeeded)})
        elif results.succeeded:
            print(f"deleted: {', '.join(sorted(results.succeeded))}")
        results.raise_first()
        return 0

    return with_connection(arguments, work)


async def _until_gone(operations: TopicOperations, left: set[str]) -> None:
    import asyncio

    from moldau.cli.terminal.progress import progress

    looks = round(DELETE_S_MAX / LOOK_AGAIN_S)
    with progress("deleting", len(left)) as advance:
        for _ in range(looks):
            there = left & set(await operations.list_topics(list_internal=True))
            advance(len(left) - len(there))
            left = there
            if not left:
                return
            await asyncio.sleep(LOOK_AGAIN_S)
    listed = ", ".join(sorted(left))
    raise ConfigError(f"still there: {listed}. It is deleted when all brokers with replicas of it are up")


def add_move_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("topic", nargs="+", help="names of topics")
    parser.add_argument("--brokers", required=True, metavar="ID,…", help="the brokers to spread their partitions over")
    parser.add_argument(
        "--replication-factor", type=at_least(1), metavar="N", help="copies of each partition; else as many as now"
    )
    parser.add_argument("--throttle", type=at_least(1), metavar="N", help="bytes a second that may be copied")
    parser.add_argument("--dry-run", action="store_true", help="say where partitions would go, and do nothing")
    add_cluster_arguments(parser)


def run_move(arguments: Namespace) -> int:
    from moldau.cli.kafka.connecting import with_connection

    async def work(connection: Connection) -> int:
        from moldau.cli.terminal.tables import Column, count, print_rows
        from moldau.cli.topic_moves import move, plan_moves

        plan = await plan_moves(connection, arguments.topic, arguments.brokers, arguments.replication_factor)
        rows = [
            {"topic": each.topic, "partition": each.partition, "from": list(before), "to": list(after)}
            for each, (before, after) in sorted(plan.items())
        ]
        if not arguments.dry_run:
            await move(connection, {each: after for each, (_, after) in plan.items()}, arguments.throttle)
        columns = (
            Column("topic", "TOPIC"),
            Column("partition", "PARTITION", count),
            Column("from", "FROM"),
            Column("to", "TO"),
        )
        print_rows(rows, columns, as_json=arguments.json)
        return 0

    return with_connection(arguments, work)


CREATE = Command(
    "topics create",
    "make topics",
    add_create_arguments,
    run_create,
    [
        ("moldau topics create orders --partitions 3", "a topic with three partitions"),
        ("moldau topics create events --config retention.ms=3600000 --if-not-exists", "with a setting of its own"),
    ],
)
ALTER = Command(
    "topics alter",
    "change settings, or add partitions",
    add_alter_arguments,
    run_alter,
    [
        ("moldau topics alter orders --partitions 6", "six partitions in all"),
        ("moldau topics alter orders --config retention.ms=60000 --reset segment.ms", "change two settings"),
    ],
)
DELETE = Command(
    "topics delete",
    "delete topics with all their records",
    add_delete_arguments,
    run_delete,
    [("moldau topics delete orders --yes", "without being asked")],
)
MOVE = Command(
    "topics move",
    "spread the partitions of topics over brokers, and wait until they are there",
    add_move_arguments,
    run_move,
    [
        ("moldau topics move orders --brokers 0,1,2,3", "use a fourth broker that was added"),
        ("moldau topics move orders --brokers 0,1,2 --replication-factor 3 --throttle 50000000", "more copies, slowly"),
    ],
)
