"""ElectLeaders: the active controller gives partitions their preferred leaders, or unclean ones where nobody leads.

v1 has the type of the election (KIP-460); before, all are preferred. Null stands for all partitions, and then those
that need no election are not listed. The answer waits until this broker's metadata shows the new leaders, and never
longer than the client is willing to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.controller.events import not_controller
from moldau.controller.leader_elections import ElectionType
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

if TYPE_CHECKING:
    from moldau.broker.node import Node

LOOK_AGAIN_MS = 10

Partition = tuple[str, int]


def refused(request: ElectLeadersRequest, code: ErrorCode, message: str) -> ElectLeadersResponse:
    """Each partition has the error: version 0 has no other place for it."""
    return answer(dict.fromkeys(asked(request) or (), ApiError(code, message)))


def asked(request: ElectLeadersRequest) -> list[Partition] | None:
    if request.topic_partitions is None:
        return None
    return [(topic.topic, partition) for topic in request.topic_partitions for partition in topic.partitions]


@handles(ApiKey.ELECT_LEADERS, "0-2", on_error=refused)
async def elect_leaders(node: Node, request: ElectLeadersRequest, call: Call) -> ElectLeadersResponse:
    partitions = asked(request)
    if request.election_type not in list(ElectionType):
        error = ApiError(ErrorCode.INVALID_REQUEST, f"Value {request.election_type} must be one of [0, 1]")
        return answer(dict.fromkeys(partitions or (), error), error.code)
    if partitions is None and not node.controller.is_active:
        partitions = [(topic, index) for topic, indexes in node.metadata.topics.items() for index in indexes]
        return answer(dict.fromkeys(partitions, not_controller()))
    call.park()
    elections = await node.controller.elect_leaders(partitions, ElectionType(request.election_type))
    elected = {partition: leader for partition, leader in elections.items() if isinstance(leader, int)}
    late = await until_led_by(node, elected, request.timeout_ms)
    outcomes: dict[Partition, ApiError | None] = {}
    for partition, outcome in elections.items():
        if partition in late:
            outcomes[partition] = ApiError(ErrorCode.REQUEST_TIMED_OUT, "The leader is elected, but not all know it.")
        else:
            outcomes[partition] = None if isinstance(outcome, int) else outcome
    if partitions is None:
        not_needed = ErrorCode.ELECTION_NOT_NEEDED
        outcomes = {each: error for each, error in outcomes.items() if error is None or error.code is not not_needed}
    return answer(outcomes)


async def until_led_by(node: Node, leaders: Mapping[Partition, int], timeout_ms: int) -> set[Partition]:
    """Wait until the metadata shows these leaders; the partitions for which it did not in time."""

    def not_yet(partitions: Iterable[Partition]) -> set[Partition]:
        known = {each: node.metadata.partition(*each) for each in partitions}
        return {each for each, shown in known.items() if shown is None or shown.leader != leaders[each]}

    pending = not_yet(leaders)
    deadline_ms = node.clock.monotonic_ms() + timeout_ms
    while pending and node.clock.monotonic_ms() < deadline_ms:
        await asyncio.sleep(LOOK_AGAIN_MS / 1000)
        pending = not_yet(pending)
    return pending


def answer(outcomes: Mapping[Partition, ApiError | None], code: ErrorCode = ErrorCode.NONE) -> ElectLeadersResponse:
    topics: dict[str, ReplicaElectionResult] = {}
    for (topic, partition), error in outcomes.items():
        result = PartitionResult(partition_id=partition)
        if error is not None:
            result.error_code, result.error_message = error.code, error.message or None
        topics.setdefault(topic, ReplicaElectionResult(topic=topic)).partition_result.append(result)
    return ElectLeadersResponse(error_code=code, replica_election_results=list(topics.values()))
