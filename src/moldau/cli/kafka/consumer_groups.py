"""`kafka-consumer-groups`: list, describe and delete groups, and move or delete their offsets."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from moldau.cli.kafka.connecting import Connection, add_connection_options, with_connection
from moldau.cli.kafka.failures import WrongUsage, text_of
from moldau.cli.kafka.instants import ago_ms, instant_ms
from moldau.cli.kafka.parser import ToolParser, exactly_one, exclude, has, require
from moldau.cli.kafka.tables import table
from moldau.cli.kafka.tool import FAILED, Tool

if TYPE_CHECKING:
    from moldau.clients.records import TopicPartition

ACTIONS = ("list", "describe", "delete", "reset-offsets", "delete-offsets")
RESETS = (
    "to-offset",
    "shift-by",
    "to-datetime",
    "by-duration",
    "to-earliest",
    "to-latest",
    "to-current",
    "from-file",
)
STATES = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning", "Reconciling")
TYPES = ("Consumer", "Classic")
TIMEOUT_MS = 5000
NO_EXECUTE = (
    "WARN: No action will be performed as the --execute option is missing. In a future major release, the default "
    "behavior of this command will be to prompt the user before executing the reset rather than doing a dry run. You "
    "should add the --dry-run option explicitly if you are scripting this command and want to keep the current default "
    "behavior without prompting."
)


def add_options(parser: ToolParser) -> None:
    parser.flag("list", "list all groups")
    parser.flag("describe", "show what a group has committed, and how far behind it is")
    parser.flag("delete", "delete groups that have no members")
    parser.flag("reset-offsets", "plan new offsets for a group without members, and with --execute commit them")
    parser.flag("delete-offsets", "forget what a group has committed for topics that it does not read")
    add_connection_options(parser, zookeeper=True)
    parser.repeated("group", "the group; may be repeated", metavar="GROUP")
    parser.flag("all-groups", "all groups")
    parser.repeated("topic", "a topic, or partitions of it as in orders:0,1; may be repeated", metavar="TOPIC[:N,…]")
    parser.flag("all-topics", "all topics for which the group has committed")
    parser.flag("offsets", "describe offsets, which is what --describe does if nothing else is said")
    parser.flag("members", "describe members")
    parser.option(
        "state", "describe the state; with --list only groups in states", metavar="STATE,…", may_be_empty=True
    )
    parser.option("type", "list the types; only groups of these types", metavar="TYPE,…", may_be_empty=True)
    parser.flag("verbose", "with --members: the partitions of each")
    parser.flag("to-earliest", "reset to the first record")
    parser.flag("to-latest", "reset to the end")
    parser.flag("to-current", "reset to what is committed now")
    parser.option("to-offset", "reset to this offset", metavar="N", type=int)
    parser.option("shift-by", "reset to so many records later, or earlier if negative", metavar="N", type=int)
    parser.option("to-datetime", "reset to the first record since then", metavar="YYYY-MM-DDTHH:mm:SS.sss")
    parser.option("by-duration", "reset to the first record of the last while", metavar="PnDTnHnMnS")
    parser.option("from-file", "reset to the offsets in a file that --export wrote", metavar="FILE")
    parser.flag("dry-run", "print the plan and change nothing")
    parser.flag("execute", "commit the plan")
    parser.flag("export", "print the plan as CSV")
    parser.option("timeout", f"how long to wait for the group, {TIMEOUT_MS} unless said", metavar="MS", type=int)
    parser.ignored("new-consumer")


def check(options: Namespace) -> str:
    """The action, if everything given goes with it."""
    if not has(options, "zookeeper"):
        require(options, "bootstrap-server")
    named = has(options, "group") or has(options, "all-groups")
    for action in ("describe", "delete", "reset-offsets"):
        if has(options, action) and not named:
            raise WrongUsage(f"Option [{action}] takes one of these options: [group], [all-groups]")
    if has(options, "describe"):
        if sum(has(options, each) for each in ("members", "offsets", "state")) > 1:
            raise WrongUsage("Option [describe] takes at most one of these options: [members], [offsets], [state]")
        if options.state:
            raise WrongUsage("Option [describe] does not take a value for [state]")
    if has(options, "delete") and has(options, "topic"):
        raise WrongUsage("The consumer does not support topic-specific offset deletion from a consumer group.")
    if has(options, "delete-offsets") and not (has(options, "group") and has(options, "topic")):
        raise WrongUsage("Option [delete-offsets] takes the following options: [group], [topic]")
    if has(options, "reset-offsets"):
        _check_reset(options)
    exclude(options, "group", "all-groups", "list")
    exclude(options, "topic", "list", "describe")
    for option in ("members", "offsets", "verbose"):
        if has(options, option) and not has(options, "describe"):
            raise WrongUsage(f"Option(s) [{option}] are unavailable given other options on the command line")
    return exactly_one(
        options,
        ACTIONS,
        "Command must include exactly one action: --list, --describe, --delete, --reset-offsets, --delete-offsets",
    )


def _check_reset(options: Namespace) -> None:
    if has(options, "dry-run") and has(options, "execute"):
        raise WrongUsage("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    if not has(options, "dry-run") and not has(options, "execute"):
        print(NO_EXECUTE, file=sys.stderr)
    for reset in RESETS:
        exclude(options, reset, *RESETS)
    if not any(has(options, reset) for reset in RESETS):
        listed = ", ".join(f"[{each}]" for each in RESETS)
        raise WrongUsage(f"Option '[reset-offsets]' requires one of the following scenarios: {listed}")
    if not any(has(options, scope) for scope in ("topic", "all-topics", "from-file")):
        raise WrongUsage("One of the reset scopes should be defined: --all-topics, --topic.")
    if options.to_datetime is not None:
        instant_ms(options.to_datetime)
    if options.by_duration is not None:
        ago_ms(options.by_duration)


def run(options: Namespace) -> int:
    action = check(options)
    timeout_s = (TIMEOUT_MS if options.timeout is None else options.timeout) / 1000

    async def work(connection: Connection) -> int:
        if action == "list":
            return await list_groups(connection, options, timeout_s)
        groups = await chosen(connection, options, timeout_s)
        if action == "delete":
            return await delete(connection, groups, timeout_s)
        if action == "delete-offsets":
            return await delete_offsets(connection, groups[0], options.topic_all, timeout_s)
        if action == "reset-offsets":
            from moldau.cli.kafka.offset_resets import reset

            return await reset(connection, options, groups, timeout_s)
        from moldau.cli.kafka.group_reports import describe

        return await describe(connection, options, groups, timeout_s)

    return with_connection(options, work)


async def chosen(connection: Connection, options: Namespace, timeout_s: float) -> list[str]:
    """The groups that the options name."""
    if not options.all_groups:
        return list(dict.fromkeys(options.group_all))
    from moldau.clients.admin.groups import GroupOperations

    listed = await connection.use(GroupOperations).list_consumer_groups(timeout_s=timeout_s)
    return [each.group_id for each in listed]


async def list_groups(connection: Connection, options: Namespace, timeout_s: float) -> int:
    from moldau.clients.admin.groups import GroupOperations

    states = _known(options.state, STATES, "state")
    types = _known(options.type, TYPES, "types")
    listed = await connection.use(GroupOperations).list_consumer_groups(states=states, types=types, timeout_s=timeout_s)
    columns = [("GROUP", -15, [each.group_id for each in listed])]
    if options.type is not None:
        columns.append(("TYPE", 20, [(each.type or "Unknown").capitalize() for each in listed]))
    if options.state is not None:
        columns.append(("STATE", 20, [each.state or "Unknown" for each in listed]))
    if len(columns) == 1:
        for each in listed:
            print(each.group_id)
        return 0
    width = max(15, *(len(each.group_id) for each in listed), 0) + 10
    headers, widths, cells = zip(*columns, strict=True)
    print(table(headers, zip(*cells, strict=True), (width, *widths[1:])))
    return 0


def _known(text: str | None, names: tuple[str, ...], what: str) -> list[str]:
    by_name = {each.lower(): each for each in names}
    given = [each.strip().lower() for each in (text or "").split(",") if each.strip()]
    if any(each not in by_name for each in given):
        raise WrongUsage(f"Invalid {what} list '{text}'. Valid {what.rstrip('s')}s are: {', '.join(names)}")
    return [by_name[each] for each in given]


async def delete(connection: Connection, groups: list[str], timeout_s: float) -> int:
    from moldau.clients.admin.groups import GroupOperations

    results = await connection.use(GroupOperations).delete_consumer_groups(
        groups, timeout_s=timeout_s, raise_errors=False
    )
    deleted = ", ".join(f"'{group}'" for group in results.succeeded)
    if not results.errors:
        print(f"Deletion of requested consumer groups ({deleted}) was successful.")
        return 0
    print("\nError: Deletion of some consumer groups failed:")
    for group, error in results.errors.items():
        print(f"* Group '{group}' could not be deleted due to: {text_of(error)}")
    if deleted:
        print(f"\nThese consumer groups were deleted successfully: {deleted}")
    return FAILED


async def delete_offsets(connection: Connection, group: str, topics: list[str], timeout_s: float) -> int:
    from moldau.base.errors import ApiError
    from moldau.clients.admin.group_offsets import GroupOffsetOperations
    from moldau.clients.records import TopicPartition

    rows: dict[TopicPartition, str] = {}
    partitions = []
    for topic in topics:
        try:
            partitions += await partitions_of(connection, [topic], timeout_s)
        except ApiError as unknown:
            rows[TopicPartition(topic, -1)] = f"Error: {text_of(unknown)}"
    results = await connection.use(GroupOffsetOperations).delete_consumer_group_offsets(
        group, partitions, timeout_s=timeout_s, raise_errors=False
    )
    rows |= dict.fromkeys(results.succeeded, "Successful")
    rows |= {partition: f"Error: {text_of(error)}" for partition, error in results.errors.items()}
    failed = any(status != "Successful" for status in rows.values())
    if failed:
        print("\nError: Encounter some partition level error, see the follow-up details:")
    else:
        print(f"Request succeed for deleting offsets with topic {', '.join(topics)} group {group}")
    cells = [
        (topic, "Not Provided" if number < 0 else number, status) for (topic, number), status in sorted(rows.items())
    ]
    print("\n" + table(("TOPIC", "PARTITION", "STATUS"), cells, (-30, 15, 15)))
    return FAILED if failed else 0


async def partitions_of(connection: Connection, topics: list[str], timeout_s: float) -> list[TopicPartition]:
    """`orders:0,1` as its partitions; a topic alone as all that it has."""
    from moldau.clients.admin.topic_descriptions import TopicDescriptionOperations
    from moldau.clients.records import TopicPartition

    partitions = []
    whole = []
    for each in topics:
        topic, colon, numbers = each.partition(":")
        if not colon:
            whole.append(topic)
            continue
        for number in numbers.split(","):
            if not number.isdecimal():
                raise WrongUsage(f"Invalid partition '{number}' specified in topic arg '{each}'")
            partitions.append(TopicPartition(topic, int(number)))
    described = await connection.use(TopicDescriptionOperations).describe_topics(whole, timeout_s=timeout_s)
    partitions += [TopicPartition(each.name, info.partition) for each in described.values() for info in each.partitions]
    return partitions


TOOL = Tool(
    "kafka-consumer-groups",
    "List all consumer groups, describe a consumer group, delete consumer group info, or reset its offsets.",
    add_options,
    run,
    (
        "--bootstrap-server localhost:9092 --list",
        "--bootstrap-server localhost:9092 --describe --group billing",
        "--bootstrap-server localhost:9092 --reset-offsets --group billing --topic orders --to-earliest --execute",
    ),
    failure="Error: Executing consumer group command failed due to ",
)
main = TOOL.main
