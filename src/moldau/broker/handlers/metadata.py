"""Metadata: the brokers, and the topics that a client asks for, by name or by id.

v0 asks for all topics by an empty list, later versions by null. Up to 3 a client cannot keep topics from being created.
v10 and 11 know ids in answers only. From 12 on a client may ask by id, and where one topic is asked for by id, names
are ignored, as in Kafka.

A topic that does not exist is created if both the client and `auto.create.topics.enable` want it. The answer does not
wait for that: it says LEADER_NOT_AVAILABLE, and the client asks again.

A node that has just started hears of the cluster, itself included, from the controller only. A client that asks before
that waits a moment: some take long to recover from an answer without brokers.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.ids import ZERO_UUID
from moldau.base.supervision import OnFailure
from moldau.broker.authorized_operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.cluster.internal_topics import INTERNAL_TOPICS
from moldau.cluster.metadata_answers import OPERATIONS_NOT_ASKED, Era, View
from moldau.controller.topic_names import problem_of_topic_name
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic

if TYPE_CHECKING:
    from moldau.broker.node import Node

logger = logging.getLogger(__name__)


def refused(request: MetadataRequest, code: ErrorCode, _message: str) -> MetadataResponse:
    # Versions 10 and 11 cannot answer with the missing name that they refuse.
    topics = [
        MetadataResponseTopic(error_code=code, name=topic.name or "", topic_id=topic.topic_id)
        for topic in request.topics or ()
    ]
    return MetadataResponse(topics=topics, error_code=code)


@handles(ApiKey.METADATA, "0-13", on_error=refused)
def metadata(node: Node, request: MetadataRequest, call: Call) -> MetadataResponse | None:
    if node.topics.waits.is_complete:
        return answer(node, request, call)
    call.park()
    work = partial(answer_when_known, node, request, call)
    node.supervisor.start("Metadata of a node that starts", work, OnFailure.LOG)
    return None


async def answer_when_known(node: Node, request: MetadataRequest, call: Call) -> None:
    await node.topics.waits.until_complete()
    try:
        response = answer(node, request, call)
    except ApiError as error:
        response = refused(request, error.code, error.message)
    if response is not None:
        call.respond(response)


def answer(node: Node, request: MetadataRequest, call: Call) -> MetadataResponse | None:
    version = call.version
    operations = TOPIC_OPERATIONS if request.include_topic_authorized_operations else OPERATIONS_NOT_ASKED
    view = View(call.answer.connection.listener, Era.of(version), operations)
    if request.topics is None or (version == 0 and not request.topics):
        return respond(node, request, view, node.metadata.answers.all_topics(view))
    names, unknown_ids = wanted(node, request, version)
    found: list[MetadataResponseTopic] = [
        MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
        for topic_id in unknown_ids
    ]
    missing: list[str] = []
    for name in names:
        topic = node.metadata.answers.topic(name, view)
        if topic is None:
            missing.append(name)
        else:
            found.append(topic)
    if missing and request.allow_auto_topic_creation and node.config.boolean("auto.create.topics.enable"):
        work = partial(create, node, request, call, view, found, missing)
        node.supervisor.start("create topics that were asked for", work, OnFailure.LOG)
        return None
    found += [absent(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, operations) for name in missing]
    return respond(node, request, view, found)


def wanted(node: Node, request: MetadataRequest, version: int) -> tuple[Iterable[str], list[bytes]]:
    """The names that a request asks for, each once, and the ids that name no topic."""
    assert request.topics is not None
    names: dict[str, None] = {}
    ids: dict[bytes, None] = {}
    for topic in request.topics:
        if version < 12 and (topic.name is None or topic.topic_id != ZERO_UUID):
            problem = "Topic name can not be null" if topic.name is None else "Topic IDs are not supported in requests"
            raise ApiError(ErrorCode.INVALID_REQUEST, f"{problem} for version {version}")
        if topic.topic_id != ZERO_UUID:
            ids[topic.topic_id] = None
        elif topic.name is None:
            raise ApiError(ErrorCode.INVALID_REQUEST, "a topic is asked for by neither name nor id")
        else:
            names[topic.name] = None
    if not ids:
        return names, []
    known = node.metadata.topic_names
    return [known[one] for one in ids if one in known], [one for one in ids if one not in known]


async def create(
    node: Node, request: MetadataRequest, call: Call, view: View, found: list[MetadataResponseTopic], missing: list[str]
) -> None:
    try:
        codes = await node.auto_topics.create(missing)
    except Exception:
        logger.exception("topics could not be created: %s", missing)
        codes = dict.fromkeys(missing, ErrorCode.UNKNOWN_SERVER_ERROR)
    found += [absent(name, code, view.operations) for name, code in codes.items()]
    call.respond(respond(node, request, view, found))


def absent(name: str, code: ErrorCode, operations: int) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=code if problem_of_topic_name(name) is None else ErrorCode.INVALID_TOPIC_EXCEPTION,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=operations,
    )


def respond(node: Node, request: MetadataRequest, view: View, topics: list[MetadataResponseTopic]) -> MetadataResponse:
    asks_operations = request.include_cluster_authorized_operations
    return MetadataResponse(
        brokers=node.metadata.answers.brokers(view.listener),
        cluster_id=node.cluster_id,
        controller_id=node.metadata.controller_id,
        topics=topics,
        cluster_authorized_operations=CLUSTER_OPERATIONS if asks_operations else OPERATIONS_NOT_ASKED,
    )
