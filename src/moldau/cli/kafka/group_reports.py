"""What `kafka-consumer-groups --describe` prints: offsets and lag, members, or the state of groups."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.cli.kafka.connecting import Connection
from moldau.cli.kafka.tables import MISSING, table
from moldau.cli.kafka.tool import FAILED
from moldau.clients.admin.group_descriptions import GroupDescription, MemberDescription
from moldau.clients.admin.group_offsets import GroupOffsetOperations
from moldau.clients.admin.groups import GroupOperations
from moldau.clients.admin.partitions import OffsetSpec, PartitionOperations
from moldau.clients.records import TopicPartition

OFFSET_COLUMNS = (
    "GROUP",
    "TOPIC",
    "PARTITION",
    "CURRENT-OFFSET",
    "LOG-END-OFFSET",
    "LAG",
    "CONSUMER-ID",
    "HOST",
    "CLIENT-ID",
)
REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")

Row = Sequence[object]


async def describe(connection: Connection, options: Namespace, groups: list[str], timeout_s: float) -> int:
    described = await descriptions(connection, groups, timeout_s)
    code = 0
    for group in sorted(described):
        description = described[group]
        if description is None or description.state == "Dead":
            print(f"\nError: Consumer group '{group}' does not exist.", file=sys.stderr)
            code = FAILED
            continue
        _announce(description)
        if options.members:
            if description.members:
                print(_members(description, verbose=options.verbose))
        elif options.state is not None:
            print(_state(description))
        elif rows := await _offset_rows(connection, description, timeout_s):
            print(f"\n{table(OFFSET_COLUMNS, rows, (-15, -15, 10, 15, 15, 15, -15, -15, 0))}")
    return code


async def descriptions(
    connection: Connection, groups: list[str], timeout_s: float
) -> dict[str, GroupDescription | None]:
    """Groups as they are; None for one that there is not, which newer brokers say and older ones call dead."""
    results = await connection.use(GroupOperations).describe_consumer_groups(
        groups, timeout_s=timeout_s, raise_errors=False
    )
    for error in results.errors.values():
        if not isinstance(error, ApiError) or error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            raise error
    return {group: results.succeeded.get(group) for group in results}


def _announce(group: GroupDescription) -> None:
    """Tell what is to be said of the group before its table."""
    if group.state == "Empty":
        print(f"\nConsumer group '{group.group_id}' has no active members.", file=sys.stderr)
    elif group.state in REBALANCING:
        print(f"\nWarning: Consumer group '{group.group_id}' is rebalancing.", file=sys.stderr)


async def _offset_rows(connection: Connection, group: GroupDescription, timeout_s: float) -> list[Row]:
    """Partitions of members, busiest first, then those that have offsets and no member."""
    name = group.group_id
    offsets = await connection.use(GroupOffsetOperations).list_consumer_group_offsets([name], timeout_s=timeout_s)
    committed = {partition: each.offset for partition, each in offsets[name].items() if each is not None}
    members = sorted((each for each in group.members if each.assignment), key=lambda each: -len(each.assignment))
    assigned = frozenset().union(*(each.assignment for each in members))
    ends = await end_offsets(connection, {*committed, *assigned}, timeout_s)
    rows: list[Row] = []
    for member in members:
        who = (member.member_id, member.host, member.client_id)
        rows += [_offset_row(name, each, committed, ends, who) for each in sorted(member.assignment, key=_by_number)]
    alone = sorted(committed.keys() - assigned, key=_by_number)
    return rows + [_offset_row(name, each, committed, ends, (MISSING, MISSING, MISSING)) for each in alone]


def _by_number(partition: TopicPartition) -> tuple[int, str]:
    return partition.partition, partition.topic


async def end_offsets(
    connection: Connection, partitions: set[TopicPartition], timeout_s: float
) -> Mapping[TopicPartition, int]:
    """The ends of those partitions that can be asked: a topic may be gone while its offsets are still there."""
    results = await connection.use(PartitionOperations).list_offsets(
        dict.fromkeys(partitions, OffsetSpec.LATEST), timeout_s=timeout_s, raise_errors=False
    )
    return {partition: found.offset for partition, found in results.succeeded.items()}


def _offset_row(
    group: str,
    partition: TopicPartition,
    committed: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    who: tuple[str, str, str],
) -> Row:
    offset, end = committed.get(partition), ends.get(partition)
    lag = None if offset is None or end is None else end - offset
    return (group, partition.topic, partition.partition, offset, end, lag, *who)


def _members(group: GroupDescription, *, verbose: bool) -> str:
    is_static = any(each.group_instance_id for each in group.members)
    columns = [("GROUP", -15), ("CONSUMER-ID", -15), ("HOST", -15), ("CLIENT-ID", -15), ("#PARTITIONS", 15)]
    if is_static:
        columns.insert(2, ("GROUP-INSTANCE-ID", -17))
    columns.append(("ASSIGNMENT" if verbose else "", 0))
    rows = []
    for each in group.members:
        row = [group.group_id, each.member_id, each.host, each.client_id, str(len(each.assignment))]
        if is_static:
            row.insert(2, each.group_instance_id or "")
        rows.append([*row, _assignment(each) if verbose else ""])
    return "\n" + table([name for name, _ in columns], rows, [width for _, width in columns])


def _assignment(member: MemberDescription) -> str:
    topics: dict[str, list[int]] = {}
    for topic, number in sorted(member.assignment):
        topics.setdefault(topic, []).append(number)
    listed = (f"{topic}({','.join(map(str, numbers))})" for topic, numbers in topics.items())
    return ", ".join(listed) or MISSING


def _state(group: GroupDescription) -> str:
    node = group.coordinator
    coordinator = f"{node.host}:{node.port}  ({node.id})"
    header = ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")
    row = (group.group_id, coordinator, group.partition_assignor, group.state, len(group.members))
    return "\n" + table(header, [row], (max(25, len(coordinator)), 25, 20, 15, 0))
