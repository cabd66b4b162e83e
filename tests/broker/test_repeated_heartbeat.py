"""Heartbeats that repeat are answered as the first was, until there is something to tell the member."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.broker.repeated_heartbeat import RepeatedHeartbeat
from moldau.protocol.api import ApiKey, response_class
from moldau.protocol.codec import decode
from moldau.protocol.headers import decode_response_header
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.messages.leave_group import LeaveGroupRequest
from moldau.protocol.messages.sync_group import SyncGroupRequest
from moldau.protocol.schema import Message
from moldau.testing.local_cluster import LocalCluster
from tests.broker.test_repeated_produce import RawConnection, frame

GROUP = "g"
VERSIONS = {ApiKey.FIND_COORDINATOR: 2, ApiKey.JOIN_GROUP: 2, ApiKey.SYNC_GROUP: 2, ApiKey.LEAVE_GROUP: 2}


def answer(data: bytes, key: ApiKey, version: int, correlation_id: int) -> Any:
    response = response_class(key)
    found, position = decode_response_header(data, response, version)
    assert found == correlation_id
    return decode(response, version, data, position)


def ask(connection: RawConnection, request: Message) -> Any:
    key = ApiKey(request.KEY)
    (data,) = connection.exchange([frame(request, VERSIONS[key], 1)])
    return answer(data, key, VERSIONS[key], 1)


def beat(connection: RawConnection, request: HeartbeatRequest, version: int, count: int) -> list[int]:
    """The error codes of as many heartbeats in one burst."""
    frames = [frame(request, version, 10 + number) for number in range(count)]
    answers = connection.exchange(frames)
    return [answer(data, ApiKey.HEARTBEAT, version, 10 + number).error_code for number, data in enumerate(answers)]


def join(member_id: str) -> JoinGroupRequest:
    protocol = JoinGroupRequestProtocol(name="range", metadata=b"")
    return JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=6_000,
        rebalance_timeout_ms=20_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[protocol],
    )


@pytest.mark.parametrize("version", [0, 3, 4])
def test_every_heartbeat_hears_what_there_is_to_hear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    taken: list[int] = []
    take = RepeatedHeartbeat.__call__

    def watched(self: RepeatedHeartbeat, *found: Any) -> tuple[bytes, int, int]:
        result = take(self, *found)
        taken.append(result[1])
        return result

    monkeypatch.setattr(RepeatedHeartbeat, "__call__", watched)
    with LocalCluster({"group.initial.rebalance.delay.ms": "0"}, data=tmp_path) as cluster:
        connection = RawConnection(cluster)
        while ask(connection, FindCoordinatorRequest(key=GROUP)).error_code:
            time.sleep(0.05)
        joined = ask(connection, join(""))
        member_id, generation = joined.member_id, joined.generation_id
        assert not ask(connection, SyncGroupRequest(group_id=GROUP, generation_id=1, member_id=member_id)).error_code
        mine = HeartbeatRequest(group_id=GROUP, generation_id=generation, member_id=member_id)
        assert beat(connection, mine, version, 9) == [0] * 9
        assert sum(taken) == 8

        late = HeartbeatRequest(group_id=GROUP, generation_id=generation - 1, member_id=member_id)
        assert beat(connection, late, version, 2) == [ErrorCode.ILLEGAL_GENERATION] * 2
        assert beat(connection, mine, version, 2) == [0, 0]

        other = RawConnection(cluster)
        other.send(frame(join(""), 2, 5))  # is answered when the first has joined again
        deadline = time.monotonic() + 20
        while beat(connection, mine, version, 1) != [ErrorCode.REBALANCE_IN_PROGRESS]:
            assert time.monotonic() < deadline
        assert beat(connection, mine, version, 2) == [ErrorCode.REBALANCE_IN_PROGRESS] * 2

        assert not ask(connection, LeaveGroupRequest(group_id=GROUP, member_id=member_id)).error_code
        assert beat(connection, mine, version, 2) == [ErrorCode.UNKNOWN_MEMBER_ID] * 2
        other.close()
        connection.close()
