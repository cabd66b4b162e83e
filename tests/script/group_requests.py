"""The requests that scripts of groups make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moldau.base.errors import ApiError
from moldau.broker.handlers import all_registrations
from moldau.coordinator.group.joins import Joiner
from moldau.coordinator.group.shard import GroupShard
from moldau.coordinator.runtime.result import Result
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.delete_groups import DeleteGroupsRequest
from moldau.protocol.messages.describe_groups import DescribeGroupsRequest
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.protocol.messages.list_groups import ListGroupsRequest
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from moldau.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from moldau.protocol.schema import Message
from moldau.protocol.stored import encode_versioned
from moldau.protocol.stored.consumer_protocol import ConsumerProtocolSubscription

Arguments = dict[str, str]
Operation = Callable[[GroupShard], Result[Any]]

NEWEST = {
    ApiKey.JOIN_GROUP: 9,
    ApiKey.SYNC_GROUP: 4,
    ApiKey.HEARTBEAT: 4,
    ApiKey.LEAVE_GROUP: 5,
    ApiKey.OFFSET_COMMIT: 9,
    ApiKey.TXN_OFFSET_COMMIT: 3,
    ApiKey.OFFSET_FETCH: 9,
    ApiKey.OFFSET_DELETE: 0,
    ApiKey.DESCRIBE_GROUPS: 6,
    ApiKey.LIST_GROUPS: 5,
    ApiKey.DELETE_GROUPS: 2,
}
"""The versions in which scripts speak, unless they say otherwise."""


def version_of(request: Message, given: Arguments) -> int:
    names_protocol = request.KEY == ApiKey.SYNC_GROUP and "protocol" in given
    return int(given.get("version", "5" if names_protocol else NEWEST[ApiKey(request.KEY)]))


def client_of(given: Arguments) -> str:
    """Who speaks; its name is the beginning of its member id."""
    return given.get("client") or given.get("member", "a").partition("-")[0]


# -- requests


def join(group_id: str, given: Arguments) -> JoinGroupRequest:
    metadata = given["metadata"].encode() if "metadata" in given else subscription(given.get("topics", "t"))
    names = [name for name in given.get("protocols", "range").split(",") if name]
    return JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=int(given.get("session", "10000")),
        rebalance_timeout_ms=int(given.get("rebalance", "60000")),
        member_id=given.get("member", ""),
        group_instance_id=given.get("instance"),
        protocol_type=given.get("type", "consumer"),
        protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name in names],
    )


def subscription(topics: str) -> bytes:
    """What a consumer says of itself: `topics=t+u`."""
    return encode_versioned(ConsumerProtocolSubscription(topics=topics.split("+") if topics else []), 0)


def sync(group_id: str, given: Arguments) -> SyncGroupRequest:
    parts = [part.rsplit(":", 1) for part in given.get("assign", "").split(",") if part]
    return SyncGroupRequest(
        group_id=group_id,
        generation_id=int(given.get("generation", "1")),
        member_id=given.get("member", ""),
        group_instance_id=given.get("instance"),
        protocol_type=given.get("type"),
        protocol_name=given.get("protocol"),
        assignments=[SyncGroupRequestAssignment(member_id=who, assignment=what.encode()) for who, what in parts],
    )


def heartbeat(group_id: str, given: Arguments) -> HeartbeatRequest:
    return HeartbeatRequest(
        group_id=group_id,
        generation_id=int(given.get("generation", "1")),
        member_id=given.get("member", ""),
        group_instance_id=given.get("instance"),
    )


def leave(group_id: str, given: Arguments) -> LeaveGroupRequest:
    leaving = [
        MemberIdentity(member_id=member_id, group_instance_id=given.get("instance"))
        for member_id in given.get("member", "").split(",")
    ]
    return LeaveGroupRequest(group_id=group_id, members=leaving)


def offsets_of(text: str) -> dict[str, list[tuple[int, int]]]:
    """`t-0@5,t-1@7` → by topic, partitions and offsets."""
    found: dict[str, list[tuple[int, int]]] = {}
    for part in text.split(","):
        name, _, offset = part.partition("@")
        topic, _, index = name.rpartition("-")
        found.setdefault(topic, []).append((int(index), int(offset or "0")))
    return found


def commit(group_id: str, given: Arguments) -> OffsetCommitRequest:
    metadata = "x" * int(given.get("metadata_bytes", "0"))
    topics = [
        OffsetCommitRequestTopic(
            name=topic,
            partitions=[
                OffsetCommitRequestPartition(
                    partition_index=index, committed_offset=offset, committed_metadata=metadata
                )
                for index, offset in partitions
            ],
        )
        for topic, partitions in offsets_of(given["offsets"]).items()
    ]
    return OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=int(given.get("generation", "-1")),
        member_id=given.get("member", ""),
        group_instance_id=given.get("instance"),
        retention_time_ms=int(given.get("retention", "-1")),
        topics=topics,
    )


def txn_commit(group_id: str, given: Arguments) -> TxnOffsetCommitRequest:
    topics = [
        TxnOffsetCommitRequestTopic(
            name=topic,
            partitions=[
                TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
                for index, offset in partitions
            ],
        )
        for topic, partitions in offsets_of(given["offsets"]).items()
    ]
    return TxnOffsetCommitRequest(
        group_id=group_id,
        producer_id=int(given["producer"]),
        generation_id=int(given.get("generation", "-1")),
        member_id=given.get("member", ""),
        group_instance_id=given.get("instance"),
        topics=topics,
    )


def fetch(group_id: str, given: Arguments) -> OffsetFetchRequest:
    topics = None
    if "offsets" in given:
        topics = [
            OffsetFetchRequestTopics(name=topic, partition_indexes=[index for index, _ in partitions])
            for topic, partitions in offsets_of(given["offsets"]).items()
        ]
    group = OffsetFetchRequestGroup(group_id=group_id, topics=topics)
    return OffsetFetchRequest(groups=[group], require_stable="stable" in given)


def delete_offsets(group_id: str, given: Arguments) -> OffsetDeleteRequest:
    topics = [
        OffsetDeleteRequestTopic(
            name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=index) for index, _ in partitions]
        )
        for topic, partitions in offsets_of(given["offsets"]).items()
    ]
    return OffsetDeleteRequest(group_id=group_id, topics=topics)


def list_groups(_group_id: str, given: Arguments) -> ListGroupsRequest:
    return ListGroupsRequest(
        states_filter=[one for one in given.get("states", "").split(",") if one],
        types_filter=[one for one in given.get("types", "").split(",") if one],
    )


REQUESTS: dict[str, Callable[[str, Arguments], Message]] = {
    "join": join,
    "sync": sync,
    "heartbeat": heartbeat,
    "leave": leave,
    "commit": commit,
    "txn-commit": txn_commit,
    "fetch": fetch,
    "delete-offsets": delete_offsets,
    "delete-group": lambda group_id, _given: DeleteGroupsRequest(groups_names=[group_id]),
    "describe": lambda group_id, _given: DescribeGroupsRequest(groups=[group_id]),
    "list": list_groups,
}


def operation_of(request: Message, given: Arguments, now_ms: int) -> Operation:
    """What the coordinator does with a request."""
    version = version_of(request, given)
    match request:
        case JoinGroupRequest():
            return lambda shard: shard.joins.join(request, Joiner(client_of(given), "/127.0.0.1", version), now_ms)
        case SyncGroupRequest():
            return lambda shard: shard.memberships.sync(request)
        case HeartbeatRequest():
            return lambda shard: Result(response=shard.memberships.heartbeat(request))
        case LeaveGroupRequest():
            return lambda shard: shard.memberships.leave(request.group_id, request.members)
        case OffsetCommitRequest():
            return lambda shard: shard.commits.commit(request, version, now_ms)
        case TxnOffsetCommitRequest():
            return lambda shard: shard.commits.commit_in_transaction(request, now_ms)
        case OffsetFetchRequest():
            return lambda shard: Result(response=shard.reads.fetch(request.groups[0], request.require_stable))
        case OffsetDeleteRequest():
            return lambda shard: shard.commits.delete_offsets(request)
        case DeleteGroupsRequest():
            return lambda shard: shard.commits.delete_group(request.groups_names[0])
        case DescribeGroupsRequest():
            return lambda shard: Result(response=shard.reads.describe(request.groups[0], version))
        case ListGroupsRequest():
            return lambda shard: Result(response=list(shard.reads.listed(request)))
        case _:
            raise AssertionError(request)


def refused(request: Message, error: ApiError) -> Message:
    """A refusal as the client gets it."""
    return all_registrations()[ApiKey(request.KEY)].on_error(request, error.code, error.message)
