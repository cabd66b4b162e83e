"""Members of a classic group on bare connections, each with one of its own, as clients have them.

They consume nothing, and their leader gives everybody the same.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Any

from moldau.base.error_codes import ErrorCode
from moldau.net.channel import Channel
from moldau.net.client_options import ClientOptions
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from moldau.protocol.schema import Message
from moldau.protocol.stored import encode_versioned
from moldau.protocol.stored.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription

SESSION_MS = 45_000
REBALANCE_MS = 60_000
ANSWER_MS_MAX = 2 * REBALANCE_MS
FOUND_S_MAX = 60
FOUND_POLL_S = 0.05
PROTOCOL_TYPE, PROTOCOL = "consumer", "range"
SUBSCRIPTION = encode_versioned(ConsumerProtocolSubscription(topics=["bench"]), 1)
ASSIGNMENT = encode_versioned(ConsumerProtocolAssignment(), 1)


class Member:
    """One member and its connection."""

    def __init__(self, port: int, group_id: str) -> None:
        self.group_id = group_id
        self.member_id = ""
        self.generation_id = -1
        self.is_leader = False
        self._all: list[str] = []  # of the generation; known to the leader
        self._channel = Channel("127.0.0.1", port, ClientOptions(client_id="bench"))

    async def ask(self, request: Message) -> Any:
        return await self._channel.request(request, timeout_ms=ANSWER_MS_MAX)

    async def find_coordinator(self) -> None:
        """Until there is one: the first who asks has the internal topic made."""
        deadline_s = time.monotonic() + FOUND_S_MAX
        while True:
            found = await self.ask(FindCoordinatorRequest(coordinator_keys=[self.group_id]))
            code = found.coordinators[0].error_code
            if not code:
                return
            assert time.monotonic() < deadline_s, ErrorCode(code).name
            await asyncio.sleep(FOUND_POLL_S)

    async def join(self) -> None:
        deadline_s = time.monotonic() + FOUND_S_MAX
        while True:
            answer = await self.ask(
                JoinGroupRequest(
                    group_id=self.group_id,
                    session_timeout_ms=SESSION_MS,
                    rebalance_timeout_ms=REBALANCE_MS,
                    member_id=self.member_id,
                    protocol_type=PROTOCOL_TYPE,
                    protocols=[JoinGroupRequestProtocol(name=PROTOCOL, metadata=SUBSCRIPTION)],
                )
            )
            self.member_id = answer.member_id or self.member_id
            if answer.error_code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):
                assert time.monotonic() < deadline_s, ErrorCode(answer.error_code).name
                await asyncio.sleep(FOUND_POLL_S)  # Kafka names a coordinator that has not opened its log yet
            elif answer.error_code != ErrorCode.MEMBER_ID_REQUIRED:
                break
        assert not answer.error_code, ErrorCode(answer.error_code).name
        self.generation_id = answer.generation_id
        self.is_leader = answer.leader == self.member_id
        self._all = [member.member_id for member in answer.members]

    async def sync(self) -> None:
        given = [SyncGroupRequestAssignment(member_id=member_id, assignment=ASSIGNMENT) for member_id in self._all]
        request = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=self.generation_id,
            member_id=self.member_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=PROTOCOL,
            assignments=given,
        )
        answer = await self.ask(request)
        assert not answer.error_code, ErrorCode(answer.error_code).name
        assert answer.assignment == ASSIGNMENT

    async def join_and_sync(self) -> None:
        await self.join()
        await self.sync()

    @property
    def heartbeat(self) -> HeartbeatRequest:
        return HeartbeatRequest(group_id=self.group_id, generation_id=self.generation_id, member_id=self.member_id)

    def close(self) -> None:
        self._channel.close()


async def stable_group(port: int, group_id: str, count: int) -> list[Member]:
    """A group of so many members that all have joined and been told their part."""
    members = [Member(port, group_id) for _ in range(count)]
    await members[0].find_coordinator()
    await asyncio.gather(*(member.join_and_sync() for member in members))
    while len({member.generation_id for member in members}) > 1:  # the first generation did not wait for all
        await asyncio.gather(*(member.join_and_sync() for member in members))
    return members


async def leave(members: Iterable[Member]) -> None:
    """All members of one group, with one request: no timers of theirs are left to run out."""
    members = list(members)
    gone = [MemberIdentity(member_id=member.member_id) for member in members]
    answer = await members[0].ask(LeaveGroupRequest(group_id=members[0].group_id, members=gone))
    assert not answer.error_code, ErrorCode(answer.error_code).name
    for member in members:
        member.close()
