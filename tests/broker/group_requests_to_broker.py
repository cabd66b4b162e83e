"""Requests of groups as tests write them, in any version, each on a connection that stays open."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from moldau.base.error_codes import ErrorCode
from moldau.broker.node import Node
from moldau.net.channel import Channel
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from moldau.protocol.schema import Message
from moldau.protocol.stored import encode_versioned
from moldau.protocol.stored.consumer_protocol import ConsumerProtocolSubscription
from moldau.testing.local_cluster import LocalCluster

COORDINATOR_S_MAX = 10.0
SEVERAL_KEYS_VERSION = 4
SEVERAL_GROUPS_VERSION = 8


def wait_for_coordinator(cluster: LocalCluster, key: str = "g", key_type: int = 0, version: int = 3) -> Any:
    """Ask for a coordinator until there is one, and it has loaded what it coordinates; the answer."""
    deadline = time.monotonic() + COORDINATOR_S_MAX
    request = FindCoordinatorRequest(key_type=key_type)
    if version >= SEVERAL_KEYS_VERSION:
        request.coordinator_keys = [key]
    else:
        request.key = key
    while True:
        answer = cluster.request(request, version)
        found = answer.coordinators[0] if version >= SEVERAL_KEYS_VERSION else answer
        is_there = found.error_code != ErrorCode.COORDINATOR_NOT_AVAILABLE and not cluster.run_in_loop(is_loading)
        if is_there or time.monotonic() > deadline:
            return found
        time.sleep(0.02)


def is_loading(node: Node) -> bool:
    return node.groups.runtime.is_loading


def subscription(*topics: str) -> bytes:
    return encode_versioned(ConsumerProtocolSubscription(topics=list(topics)), 0)


class GroupMember:
    """One connection and the member that uses it."""

    def __init__(self, cluster: LocalCluster, channel: Channel, group_id: str) -> None:
        self._cluster = cluster
        self._channel = channel
        self.group_id = group_id
        self.member_id = ""
        self.generation_id = -1
        self.instance: str | None = None
        self.protocol_name: str | None = "range"

    def request(self, request: Message, version: int | None = None) -> Any:
        return self._cluster._call(self._channel.request(request, version), 30.0)

    def begin(self, request: Message, version: int | None = None) -> Any:
        """Send a request whose answer will take a while; the future of its answer."""
        assert self._cluster._loop is not None
        return asyncio.run_coroutine_threadsafe(self._channel.request(request, version), self._cluster._loop)

    def join_request(self, *topics: str, protocols: tuple[str, ...] = ("range",), **more: Any) -> JoinGroupRequest:
        return JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=more.pop("session_timeout_ms", 10_000),
            rebalance_timeout_ms=more.pop("rebalance_timeout_ms", 10_000),
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=name, metadata=subscription(*topics)) for name in protocols],
            **more,
        )

    def join(self, *topics: str, version: int = 9, **more: Any) -> JoinGroupResponse:
        """Join, twice if an id has to be had first."""
        answer: JoinGroupResponse = self.request(self.join_request(*topics, **more), version)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            answer = self.request(self.join_request(*topics, **more), version)
        if not answer.error_code:
            self.member_id, self.generation_id = answer.member_id, answer.generation_id
        return answer

    def sync(self, assignment: dict[str, bytes] | None = None, version: int = 4) -> SyncGroupResponse:
        parts = [SyncGroupRequestAssignment(member_id=k, assignment=v) for k, v in (assignment or {}).items()]
        request = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocol_name=self.protocol_name,
            assignments=parts,
        )
        answer: SyncGroupResponse = self.request(request, version)
        return answer

    def heartbeat(self, version: int = 4) -> ErrorCode:
        request = HeartbeatRequest(
            group_id=self.group_id,
            generation_id=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.instance,
        )
        return ErrorCode(self.request(request, version).error_code)

    def become_stable(self, *topics: str) -> None:
        """Join alone, and assign something."""
        assert not self.join(*topics).error_code
        assert not self.sync({self.member_id: b"all"}).error_code

    def commit(self, topic: str, offset: int, version: int = 9, partition: int = 0, **more: Any) -> ErrorCode:
        topic_id = more.pop("topic_id", bytes(16))
        one = OffsetCommitRequestPartition(
            partition_index=partition, committed_offset=offset, committed_metadata=more.pop("metadata", "")
        )
        request = OffsetCommitRequest(
            group_id=self.group_id,
            generation_id_or_member_epoch=self.generation_id,
            member_id=self.member_id,
            group_instance_id=self.instance,
            topics=[OffsetCommitRequestTopic(name=topic, topic_id=topic_id, partitions=[one])],
            **more,
        )
        answer = self.request(request, version)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def committed(self, topic: str, version: int = 9, partition: int = 0, **more: Any) -> Any:
        """What is told of one partition."""
        topic_id = more.pop("topic_id", bytes(16))
        request = OffsetFetchRequest(**more)
        if version >= SEVERAL_GROUPS_VERSION:
            asked = OffsetFetchRequestTopics(name=topic, topic_id=topic_id, partition_indexes=[partition])
            request.groups = [OffsetFetchRequestGroup(group_id=self.group_id, topics=[asked])]
        else:
            request.group_id = self.group_id
            request.topics = [OffsetFetchRequestTopic(name=topic, partition_indexes=[partition])]
        answer = self.request(request, version)
        found = answer.groups[0] if version >= SEVERAL_GROUPS_VERSION else answer
        return found.topics[0].partitions[0]


@contextmanager
def member(cluster: LocalCluster, group_id: str) -> Iterator[GroupMember]:
    host, port = cluster.bootstrap_servers.split(":")
    channel = cluster.run_in_loop(lambda _node: Channel(host, int(port)))
    try:
        yield GroupMember(cluster, channel, group_id)
    finally:
        cluster.run_in_loop(lambda _node: channel.close())
