"""A thousand members at once: one generation, and no more work than members."""

from __future__ import annotations

from typing import Any

from moldau.base.error_codes import ErrorCode
from moldau.coordinator.group.joins import Joiner
from moldau.coordinator.group.settings import GroupSettings
from moldau.coordinator.group.shard import GroupShard
from moldau.coordinator.runtime.result import Result
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.script.group_stage import GroupStage

MEMBERS = 1_000


def test_a_storm_of_joins_is_one_generation() -> None:
    stage = GroupStage(GroupSettings())
    answers: list[JoinGroupResponse] = []

    def join(member_id: str) -> None:
        request = JoinGroupRequest(
            group_id="g",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=60_000,
            member_id=member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\0\xff\xff\xff\xff")],
        )

        def operation(shard: GroupShard) -> Result[JoinGroupResponse]:
            return shard.joins.join(request, Joiner("c", "/127.0.0.1", 9), stage.clock.now_ms())

        stage.run(operation, answers.append)

    for _ in range(MEMBERS):
        join("")
    assert {answer.error_code for answer in answers} == {ErrorCode.MEMBER_ID_REQUIRED}
    member_ids = [answer.member_id for answer in answers]
    assert len(set(member_ids)) == MEMBERS
    answers.clear()
    for member_id in member_ids:
        join(member_id)
    assert answers == []
    stage.do("wait 6000")
    assert [(answer.error_code, answer.generation_id) for answer in answers] == [(0, 1)] * MEMBERS
    assert sorted(len(answer.members) for answer in answers) == [0] * (MEMBERS - 1) + [MEMBERS]
    parts: list[Any] = []
    assignments = [SyncGroupRequestAssignment(member_id=one, assignment=one.encode()) for one in member_ids]
    for member_id in reversed(member_ids):
        sync = SyncGroupRequest(group_id="g", generation_id=1, member_id=member_id, assignments=assignments)
        stage.run(lambda shard, sync=sync: shard.memberships.sync(sync), parts.append)  # type: ignore[misc]
    assert sorted(part.assignment.decode() for part in parts) == sorted(member_ids)
    (group,) = stage.shard.groups.values()
    assert (group.state.value, len(group.members)) == ("Stable", MEMBERS)
