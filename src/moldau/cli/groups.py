"""`moldau groups`: who reads what, how far behind, how fast, and where they go on."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from moldau.base.errors import ConfigError
from moldau.cli.cluster_arguments import add_cluster_arguments, at_least
from moldau.cli.command import Command, CommandGroup

if TYPE_CHECKING:
    from moldau.cli.kafka.connecting import Connection

INTERVAL_S = 5.0


def add_group_argument(parser: ArgumentParser) -> None:
    """A group by its place, or by `--group` as Kafka's tools have it."""
    parser.add_argument("group", nargs="?", metavar="GROUP", help="the group")
    parser.add_argument("--group", dest="group_option", metavar="GROUP", help="the same, as Kafka's tools have it")


def group_of(arguments: Namespace) -> str:
    given = [each for each in (arguments.group, arguments.group_option) if each is not None]
    if len(given) != 1:
        raise ConfigError("name one group; `moldau groups list` tells which there are")
    return str(given[0])


def add_list_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("pattern", nargs="?", default="*", help="a name, or a pattern with * and ?")
    add_cluster_arguments(parser)


def run_list(arguments: Namespace) -> int:
    from moldau.cli.kafka.connecting import with_connection

    async def work(connection: Connection) -> int:
        from moldau.cli.cluster_sample import groups_now
        from moldau.cli.terminal.tables import Column, alarming, count, print_rows

        groups = await groups_now(connection, lambda name: fnmatchcase(name, arguments.pattern))
        rows = [
            {
                "group": each.name,
                "state": each.state,
                "members": each.members,
                "topics": sorted({partition.topic for partition in each.committed}),
                "lag": each.lag,
            }
            for each in groups
        ]
        columns = (
            Column("group", "GROUP"),
            Column("state", "STATE", style=lambda state: "green" if state == "Stable" else "yellow"),
            Column("members", "MEMBERS", count),
            Column("lag", "LAG", count, alarming()),
            Column("topics", "TOPICS"),
        )
        print_rows(rows, columns, as_json=arguments.json)
        return 0

    return with_connection(arguments, work)


def add_describe_arguments(parser: ArgumentParser) -> None:
    add_group_argument(parser)
    add_cluster_arguments(parser)


def run_describe(arguments: Namespace) -> int:
    from moldau.cli.kafka.connecting import with_connection

    group = group_of(arguments)

    async def work(connection: Connection) -> int:
        from moldau.cli.group_details import OFFSET_COLUMNS, details_of
        from moldau.cli.terminal.tables import print_json, print_rows

        found = await details_of(connection, group)
        if arguments.json:
            print_json(found)
            return 0
        title = f"{group}: {found['state']}, {found['members']} members, coordinator {found['coordinator']}"
        print_rows(found["partitions"], OFFSET_COLUMNS, title=title)
        return 0

    return with_connection(arguments, work)


def add_rate_arguments(parser: ArgumentParser) -> None:
    add_group_argument(parser)
    parser.add_argument(
        "--interval", type=at_least(0.1, float), default=INTERVAL_S, metavar="SECONDS", help="between two looks"
    )
    parser.add_argument("--count", type=at_least(1), default=1, metavar="N", help="how many times; once unless said")
    add_cluster_arguments(parser, json="print a line of JSON for each look")


def run_rate(arguments: Namespace) -> int:
    from moldau.cli.kafka.connecting import with_connection

    group = group_of(arguments)

    async def work(connection: Connection) -> int:
        from moldau.cli.group_rates import watch

        return await watch(connection, group, arguments.interval, arguments.count, as_json=arguments.json)

    return with_connection(arguments, work)


def add_delete_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("group", nargs="+", help="names of groups that have no members")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_cluster_arguments(parser)


def run_delete(arguments: Namespace) -> int:
    from moldau.cli.kafka.connecting import with_connection
    from moldau.cli.terminal.questions import confirm

    confirm(f"Forget {', '.join(arguments.group)} with their offsets?", yes=arguments.yes)

    async def work(connection: Connection) -> int:
        from moldau.cli.terminal.tables import print_json
        from moldau.clients.admin.groups import GroupOperations

        results = await connection.use(GroupOperations).delete_consumer_groups(arguments.group, raise_errors=False)
        if arguments.json:
            print_json({"deleted": sorted(results.succeeded)})
        elif results.succeeded:
            print(f"deleted: {', '.join(sorted(results.succeeded))}")
        results.raise_first()
        return 0

    return with_connection(arguments, work)


def add_reset_arguments(parser: ArgumentParser) -> None:
    add_group_argument(parser)
    parser.add_argument(
        "--topic",
        action="append",
        default=[],
        metavar="TOPIC[:0,1,…]",
        help="a topic, or some of its partitions; may be repeated; else all that the group has read",
    )
    parser.add_argument(
        "--to",
        required=True,
        metavar="WHERE",
        help="earliest, latest, an offset, +N or -N from where it is, a time (2026-05-01T10:00:00.000) or a duration "
        "ago (PT30M)",
    )
    parser.add_argument("--execute", action="store_true", help="do it; else it is only shown")
    add_cluster_arguments(parser)


def run_reset(arguments: Namespace) -> int:
    from moldau.cli.group_resets import reset

    return reset(arguments, group_of(arguments))


COMMAND = CommandGroup(
    "groups",
    "List and describe groups, see their rates, reset where they go on, delete them.",
    (
        Command(
            "groups list",
            "all groups: state, members, lag",
            add_list_arguments,
            run_list,
            [("moldau groups list", "all groups"), ("moldau groups list 'bill*' --json", "some of them, as JSON")],
        ),
        Command(
            "groups describe",
            "how far a group is in each partition, and who reads it",
            add_describe_arguments,
            run_describe,
            [("moldau groups describe billing", "offsets, lag and members")],
        ),
        Command(
            "groups rate",
            "how fast a group reads, and its topics are written",
            add_rate_arguments,
            run_rate,
            [
                ("moldau groups rate --group billing --interval 10", "records a second over ten seconds"),
                ("moldau groups rate billing --count 60 --interval 1", "once a second, for a minute"),
            ],
        ),
        Command(
            "groups reset",
            "say where a group goes on",
            add_reset_arguments,
            run_reset,
            [
                ("moldau groups reset billing --topic orders --to earliest", "what would happen"),
                ("moldau groups reset billing --to PT1H --execute", "read the last hour again"),
                ("moldau groups reset billing --topic orders:0 --to -5 --execute", "five records back"),
            ],
        ),
        Command(
            "groups delete",
            "forget groups with their offsets",
            add_delete_arguments,
            run_delete,
            [("moldau groups delete billing --yes", "without being asked")],
        ),
    ),
)
