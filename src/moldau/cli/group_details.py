"""A group partition by partition: where it is, how far behind, who reads."""

from __future__ import annotations

from typing import Any, TypedDict

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, ConfigError
from moldau.cli.cluster_sample import end_offsets
from moldau.cli.kafka.connecting import Connection
from moldau.cli.terminal.tables import Column, alarming, count
from moldau.clients.admin.group_descriptions import GroupDescription
from moldau.clients.admin.group_offsets import GroupOffsetOperations
from moldau.clients.admin.groups import GroupOperations
from moldau.clients.records import TopicPartition

OFFSET_COLUMNS = (
    Column("topic", "TOPIC"),
    Column("partition", "PARTITION", count),
    Column("offset", "OFFSET", count),
    Column("end", "END", count),
    Column("lag", "LAG", count, alarming()),
    Column("client", "CLIENT"),
    Column("host", "HOST"),
)


class GroupDetails(TypedDict):
    """A partition without a commit has no offset; without a member, no client."""

    group: str
    state: str
    members: int
    coordinator: str
    assignor: str
    partitions: list[dict[str, Any]]


async def description_of(connection: Connection, group: str) -> GroupDescription:
    results = await connection.use(GroupOperations).describe_consumer_groups([group], raise_errors=False)
    error = results.errors.get(group)
    if error is not None and not (isinstance(error, ApiError) and error.code is ErrorCode.GROUP_ID_NOT_FOUND):
        raise error
    if error is not None or results[group].state == "Dead":
        raise ConfigError(f"there is no group {group}; `moldau groups list` tells which there are")
    return results[group]


async def committed_of(connection: Connection, group: str) -> dict[TopicPartition, int]:
    offsets = await connection.use(GroupOffsetOperations).list_consumer_group_offsets([group])
    return {partition: each.offset for partition, each in offsets[group].items() if each is not None}


async def details_of(connection: Connection, group: str) -> GroupDetails:
    described = await description_of(connection, group)
    committed = await committed_of(connection, group)
    readers = {partition: member for member in described.members for partition in member.assignment}
    partitions = sorted({*committed, *readers})
    ends = await end_offsets(connection, partitions)
    rows = []
    for partition in partitions:
        offset, end, member = committed.get(partition), ends.get(partition), readers.get(partition)
        rows.append(
            {
                "topic": partition.topic,
                "partition": partition.partition,
                "offset": offset,
                "end": end,
                "lag": None if offset is None or end is None else max(0, end - offset),
                "client": None if member is None else member.client_id,
                "member": None if member is None else member.member_id,
                "host": None if member is None else member.host,
            }
        )
    return GroupDetails(
        group=group,
        state=described.state,
        members=len(described.members),
        coordinator=str(described.coordinator.id),
        assignor=described.partition_assignor,
        partitions=rows,
    )
