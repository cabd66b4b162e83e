"""A consumer as the protocol wants it: joins, assigns if it leads, heartbeats and commits, until it is stopped.

It consumes nothing: its position in a partition is the number of its next commit. Everything that it is told goes to a
`History`, which knows what must not be.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import Any

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import Disconnected
from moldau.net.channel import Channel
from moldau.net.client_options import ClientOptions
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from moldau.protocol.schema import Message
from tests.sim.groups.simulated_broker import HOST, PORT

GROUP, TOPIC = "g", "t"
PARTITIONS = 6
SESSION_MS, REBALANCE_MS = 6_000, 10_000
HEARTBEAT_S = 1.0
RETRY_S = 0.2
ANSWER_MS_MAX, JOIN_MS_MAX = 5_000, 3 * REBALANCE_MS

LOST = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.GROUP_ID_NOT_FOUND}
AGAIN = {
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}


class Refused(Exception):
    """The coordinator does not want what was asked."""

    def __init__(self, code: int) -> None:
        super().__init__(ErrorCode(code).name)
        self.code = ErrorCode(code)


@dataclass
class History:
    """What all members were told; `violations` names whatever contradicts the rest."""

    owners: dict[tuple[int, int], str] = field(default_factory=dict)  # (generation, partition) → instance or member
    acknowledged: dict[int, int] = field(default_factory=dict)  # partition → highest offset that was acknowledged
    sent: set[tuple[int, int]] = field(default_factory=set)
    violations: list[str] = field(default_factory=list)
    commits: int = 0
    generations: int = 0

    def assigned(self, generation: int, partition: int, who: str) -> None:
        self.generations = max(self.generations, generation)
        owner = self.owners.setdefault((generation, partition), who)
        if owner != who:
            self.violations.append(f"partition {partition} belongs to {owner} and {who} in generation {generation}")

    def fetched(self, partition: int, offset: int, acknowledged_before: int) -> None:
        if offset < acknowledged_before:
            self.violations.append(f"offset {acknowledged_before} of {partition} was acknowledged, and is {offset} now")
        if offset >= 0 and (partition, offset) not in self.sent:
            self.violations.append(f"offset {offset} of {partition} was never committed")

    def committed(self, partition: int, offset: int, acknowledged_before: int) -> None:
        self.commits += 1
        if offset < acknowledged_before:
            self.violations.append(f"offset {offset} of {partition} was taken after {acknowledged_before}")
        self.acknowledged[partition] = max(self.acknowledged.get(partition, -1), offset)


class SimulatedMember:
    """`instance` makes it a static member."""

    partitions = PARTITIONS

    def __init__(self, name: str, history: History, random: Random, instance: str | None = None) -> None:
        self.name = name
        self.instance = instance
        self.history = history
        self.member_id = ""
        self.generation = -1
        self.positions: dict[int, int] = {}
        self.is_leaving = False
        self._channel = Channel(HOST, PORT, ClientOptions(client_id=name, drawn_from=random))

    async def run(self) -> None:
        """Until it is told to leave, or is fenced by another with its instance id."""
        while not self.is_leaving:
            try:
                await self._find_coordinator()
                await self._join()
                await self._work()
            except Disconnected:
                await asyncio.sleep(RETRY_S)
            except Refused as refused:
                if refused.code is ErrorCode.FENCED_INSTANCE_ID:
                    break
                if refused.code in LOST:
                    self.member_id = ""
                elif refused.code is not ErrorCode.REBALANCE_IN_PROGRESS:
                    await asyncio.sleep(RETRY_S)
                    if refused.code not in AGAIN:
                        self.history.violations.append(f"{self.name} did not expect {refused.code.name}")
        self.positions = {}
        self._channel.close()

    async def _ask(self, request: Message, version: int, timeout_ms: int = ANSWER_MS_MAX) -> Any:
        return await self._channel.request(request, version, timeout_ms=timeout_ms)

    async def _find_coordinator(self) -> None:
        _check((await self._ask(FindCoordinatorRequest(key=GROUP), 2)).error_code)

    async def _join(self) -> None:
        self.positions = {}
        answer: JoinGroupResponse = await self._ask(self._join_request(), 9, JOIN_MS_MAX)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            answer = await self._ask(self._join_request(), 9, JOIN_MS_MAX)
        _check(answer.error_code)
        self.member_id, self.generation = answer.member_id, answer.generation_id
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
            assignments=[] if answer.skip_assignment else self._assign([one.member_id for one in answer.members]),
        )
        synced = await self._ask(request, 4, JOIN_MS_MAX)
        _check(synced.error_code)
        mine = list(synced.assignment)
        for partition in mine:
            self.history.assigned(self.generation, partition, self.instance or self.member_id)
        await self._fetch(mine)

    def _join_request(self) -> JoinGroupRequest:
        return JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id="" if self.instance is not None and not self.member_id else self.member_id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff")],
        )

    def _assign(self, member_ids: list[str]) -> list[SyncGroupRequestAssignment]:
        """The leader deals the partitions out; an assignment is a list of partitions, one byte each."""
        dealt: dict[str, bytearray] = {member_id: bytearray() for member_id in member_ids}
        for partition in range(self.partitions if member_ids else 0):
            dealt[member_ids[partition % len(member_ids)]].append(partition)
        return [SyncGroupRequestAssignment(member_id=key, assignment=bytes(value)) for key, value in dealt.items()]

    async def _fetch(self, partitions: list[int]) -> None:
        before = dict(self.history.acknowledged)
        topics = [OffsetFetchRequestTopics(name=TOPIC, partition_indexes=partitions)]
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=topics)], require_stable=True
        )
        (group,) = (await self._ask(request, 8)).groups
        _check(group.error_code)
        for one in group.topics[0].partitions:
            self.history.fetched(one.partition_index, one.committed_offset, before.get(one.partition_index, -1))
            self.positions[one.partition_index] = max(one.committed_offset, 0)

    async def _work(self) -> None:
        while not self.is_leaving:
            await asyncio.sleep(HEARTBEAT_S)
            await self._commit()
            heartbeat = HeartbeatRequest(
                group_id=GROUP,
                generation_id=self.generation,
                member_id=self.member_id,
                group_instance_id=self.instance,
            )
            _check((await self._ask(heartbeat, 4)).error_code)
        if self.instance is None:
            leaving = [MemberIdentity(member_id=self.member_id)]
            await self._ask(LeaveGroupRequest(group_id=GROUP, members=leaving), 5)

    async def _commit(self) -> None:
        if not self.positions:
            return
        before = dict(self.history.acknowledged)
        offsets = {partition: position + 1 for partition, position in self.positions.items()}
        self.history.sent |= set(offsets.items())
        partitions = [
            OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
            for partition, offset in offsets.items()
        ]
        request = OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
            topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=partitions)],
        )
        (topic,) = (await self._ask(request, 9)).topics
        for one in topic.partitions:
            _check(one.error_code)
        for partition, offset in offsets.items():
            self.history.committed(partition, offset, before.get(partition, -1))
        self.positions.update(offsets)


def _check(code: int) -> None:
    if code:
        raise Refused(code)
