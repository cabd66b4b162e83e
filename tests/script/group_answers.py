"""The answers that scripts of groups get, as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.delete_groups import DeleteGroupsResponse
from moldau.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsResponse
from moldau.protocol.messages.heartbeat import HeartbeatResponse
from moldau.protocol.messages.join_group import JoinGroupResponse
from moldau.protocol.messages.leave_group import LeaveGroupResponse
from moldau.protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from moldau.protocol.messages.offset_commit import OffsetCommitResponse
from moldau.protocol.messages.offset_delete import OffsetDeleteResponse
from moldau.protocol.messages.offset_fetch import OffsetFetchResponse, OffsetFetchResponseGroup
from moldau.protocol.messages.sync_group import SyncGroupResponse
from moldau.protocol.messages.txn_offset_commit import TxnOffsetCommitResponse


def show(outcome: Any) -> list[str]:
    """An answer, or the part of it that a shard gives, as lines."""
    return list(_SHOWN[type(outcome)](outcome))


def name_of(code: int) -> str:
    return ErrorCode(code).name if code else "OK"


def joined(answer: JoinGroupResponse) -> Iterable[str]:
    if answer.error_code:
        yield f"{name_of(answer.error_code)} {answer.member_id}".rstrip()
        return
    members = " ".join(one.member_id for one in answer.members)
    listed = f", members {members}" if members else ""
    skipped = ", the assignment stays" if answer.skip_assignment else ""
    who = f"joined as {answer.member_id}: generation {answer.generation_id}, protocol {answer.protocol_name}"
    yield f"{who}, leader {answer.leader}{listed}{skipped}"


def synced(answer: SyncGroupResponse) -> Iterable[str]:
    yield name_of(answer.error_code) if answer.error_code else f"assigned {answer.assignment.decode() or 'nothing'}"


def left(answer: LeaveGroupResponse) -> Iterable[str]:
    for one in answer.members:
        yield f"leave {one.member_id or one.group_instance_id}: {name_of(one.error_code)}"


def fetched(answer: OffsetFetchResponseGroup) -> Iterable[str]:
    for topic in answer.topics:
        for one in topic.partitions:
            error = f": {name_of(one.error_code)}" if one.error_code else f"@{one.committed_offset}"
            yield f"{topic.name}-{one.partition_index}{error}"
    if not answer.topics:
        yield "nothing"


def committed(answer: OffsetCommitResponse | TxnOffsetCommitResponse | OffsetDeleteResponse) -> Iterable[str]:
    if isinstance(answer, OffsetDeleteResponse) and answer.error_code:
        yield name_of(answer.error_code)
    for topic in answer.topics:
        for one in topic.partitions:
            yield f"{topic.name}-{one.partition_index}: {name_of(one.error_code)}"


def described(group: DescribedGroup) -> Iterable[str]:
    error = f" {name_of(group.error_code)}" if group.error_code else ""
    yield f"{group.group_id}: {group.group_state}{error}, {group.protocol_type or '-'}, {group.protocol_data or '-'}"
    for member in group.members:
        instance = f" ({member.group_instance_id})" if member.group_instance_id is not None else ""
        known = "known" if member.member_metadata else "not told"
        what = member.member_assignment.decode() or "nothing"
        yield f"  {member.member_id}{instance} of {member.client_host}: metadata {known}, assigned {what}"


def listed(groups: list[ListedGroup]) -> Iterable[str]:
    for one in groups:
        yield f"{one.group_id}: {one.group_state}, {one.protocol_type or '-'}, {one.group_type}"


_SHOWN: dict[type, Callable[[Any], Iterable[str]]] = {
    JoinGroupResponse: joined,
    SyncGroupResponse: synced,
    HeartbeatResponse: lambda answer: [name_of(answer.error_code)],
    LeaveGroupResponse: left,
    OffsetCommitResponse: committed,
    TxnOffsetCommitResponse: committed,
    OffsetDeleteResponse: committed,
    OffsetFetchResponse: lambda answer: fetched(answer.groups[0]),
    OffsetFetchResponseGroup: fetched,
    DescribeGroupsResponse: lambda answer: described(answer.groups[0]),
    DescribedGroup: described,
    ListGroupsResponse: lambda answer: listed(answer.groups),
    list: listed,
    DeleteGroupsResponse: lambda answer: [name_of(answer.results[0].error_code)],
    ErrorCode: lambda code: [name_of(code)],
}
