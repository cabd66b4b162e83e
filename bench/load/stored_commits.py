"""Many offset commits in few requests, so that there is something to load; and a look whether it is loaded.

Some groups commit all partitions of a topic in turn, the offset being the number of the round.
"""

from __future__ import annotations

import time

from bench.load.wire import Wire
from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from moldau.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse

GROUPS = [f"loaded-{number}" for number in range(10)]
COMMIT_VERSION = 8
FETCH_VERSION = 8
FIND_VERSION = 4
READY_S_MAX = 240
POLL_S = 0.002
WAITING = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)


def commit_many(port: int, topic: str, partitions: int, *, first: int, count: int) -> None:
    """So many commits, after as many that there are already."""
    each = partitions * len(GROUPS)
    assert first % each == 0
    assert count % each == 0
    with Wire(port) as wire:
        await_coordinator(wire)
        for offset in range(first // each, (first + count) // each):
            asked = [
                OffsetCommitRequestPartition(partition_index=p, committed_offset=offset) for p in range(partitions)
            ]
            topics = [OffsetCommitRequestTopic(name=topic, partitions=asked)]
            for group_id in GROUPS:
                request = OffsetCommitRequest(group_id=group_id, topics=topics)
                answer = wire.ask(request, OffsetCommitResponse, COMMIT_VERSION)
                codes = {one.error_code for one in answer.topics[0].partitions}
                assert codes == {0}, codes


def await_coordinator(wire: Wire) -> None:
    deadline_s = time.monotonic() + READY_S_MAX
    request = FindCoordinatorRequest(coordinator_keys=GROUPS)
    while any(one.error_code for one in wire.ask(request, FindCoordinatorResponse, FIND_VERSION).coordinators):
        assert time.monotonic() < deadline_s
        time.sleep(POLL_S)
    while not _is_loaded(wire):
        assert time.monotonic() < deadline_s
        time.sleep(POLL_S)


def _is_loaded(wire: Wire) -> bool:
    codes = {group.error_code for group in _offsets(wire).groups}
    assert codes <= {0, *WAITING}, codes
    return codes == {0}


def _offsets(wire: Wire) -> OffsetFetchResponse:
    groups = [OffsetFetchRequestGroup(group_id=group_id, topics=None) for group_id in GROUPS]
    return wire.ask(OffsetFetchRequest(groups=groups), OffsetFetchResponse, FETCH_VERSION)


def await_offsets(port: int, topic: str, partitions: int, count: int) -> None:
    """Until all groups have the offsets of their last commits."""
    with Wire(port) as wire:
        await_coordinator(wire)
        last = count // (partitions * len(GROUPS)) - 1
        for group in _offsets(wire).groups:
            (found,) = group.topics
            assert found.name == topic
            assert {one.committed_offset for one in found.partitions} == {last}
            assert len(found.partitions) == partitions
