"""FindCoordinator: which broker coordinates a group (key type 0), a transactional id (1), or shared state (2).

It is the leader of a partition of an internal topic. The first to ask brings the topic into being, and is answered when
it is there: Kafka says COORDINATOR_NOT_AVAILABLE, and clients ask again after a second. From version 4 on several keys
are asked for at once. Share groups, which version 6 knows, have no coordinator here.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.hashing import coordinator_partition
from moldau.base.supervision import OnFailure
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.cluster.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

if TYPE_CHECKING:
    from moldau.broker.node import Node

logger = logging.getLogger(__name__)

GROUP, TRANSACTION, SHARE = 0, 1, 2
TOPICS = {GROUP: CONSUMER_OFFSETS, TRANSACTION: TRANSACTION_STATE}
CREATED_WITHIN_MS = 2_000
SEVERAL_KEYS_VERSION = 4
SHARE_VERSION = 6
NO_NODE = -1


def refused(request: FindCoordinatorRequest, code: ErrorCode, message: str) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(
        error_code=code,
        error_message=message or None,
        node_id=NO_NODE,
        port=NO_NODE,
        coordinators=[nobody(key, code, message) for key in request.coordinator_keys],
    )


def nobody(key: str, code: ErrorCode, message: str) -> Coordinator:
    return Coordinator(key=key, node_id=NO_NODE, port=NO_NODE, error_code=code, error_message=message or None)


@handles(ApiKey.FIND_COORDINATOR, "0-6", on_error=refused)
def find_coordinator(node: Node, request: FindCoordinatorRequest, call: Call) -> FindCoordinatorResponse | None:
    topic = TOPICS.get(request.key_type)
    if topic is None or topic in node.metadata.topics:
        return answer(node, request, call)
    call.park()
    node.supervisor.start(f"create {topic}", partial(create_and_answer, node, request, call, topic), OnFailure.LOG)
    return None


async def create_and_answer(node: Node, request: FindCoordinatorRequest, call: Call, topic: str) -> None:
    try:
        await node.auto_topics.create([topic])
        await node.topics.waits.until_led({topic: (0,)}, CREATED_WITHIN_MS)
        call.respond(answer(node, request, call))
    except ApiError as error:
        call.respond(refused(request, error.code, error.message))


def answer(node: Node, request: FindCoordinatorRequest, call: Call) -> FindCoordinatorResponse:
    listener = call.answer.connection.listener
    if call.version < SEVERAL_KEYS_VERSION:
        found = find(node, request.key_type, request.key, call.version, listener)
        return FindCoordinatorResponse(node_id=found.node_id, host=found.host, port=found.port)
    coordinators = []
    for key in request.coordinator_keys:
        try:
            coordinators.append(find(node, request.key_type, key, call.version, listener))
        except ApiError as error:
            coordinators.append(nobody(key, error.code, error.message))
    return FindCoordinatorResponse(coordinators=coordinators)


def find(node: Node, key_type: int, key: str, version: int, listener: str) -> Coordinator:
    if key_type == SHARE and version >= SHARE_VERSION:
        raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "share groups are not coordinated here")
    if key_type not in (GROUP, TRANSACTION):
        raise ApiError(ErrorCode.INVALID_REQUEST, f"there is no coordinator of type {key_type}")
    topic = TOPICS[key_type]
    partitions = node.metadata.topics.get(topic)
    if partitions is None:
        raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{topic} could not be created yet: ask again")
    count = node.groups.partitions if key_type == GROUP else len(partitions)
    partition = partitions.get(coordinator_partition(key, count))
    endpoint = None if partition is None else node.metadata.endpoint(partition.leader, listener)
    if partition is None or endpoint is None:
        raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"a partition of {topic} has no leader: ask again")
    return Coordinator(key=key, node_id=partition.leader, host=endpoint.host, port=endpoint.port)
