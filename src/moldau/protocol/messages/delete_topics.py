"""DeleteTopics (20): delete topics.

v1: answer + throttle_time_ms.
v2: throttled answers are sent before the throttling (KIP-219).
v3: TOPIC_DELETION_DISABLED may be answered.
v4: flexible.
v5: error messages; THROTTLING_QUOTA_EXCEEDED (KIP-599); answer + error_message.
v6: topics by name or by id (KIP-516); request + topics; request - topic_names; answer + topic_id.
"""

from __future__ import annotations

from moldau.protocol.schema import ZERO_UUID, Int16, Int32, Message, String, Struct, Uuid, message, struct, wire


@struct
class DeleteTopicState(Struct):
    name: String | None = wire(default=None, null="0+")
    topic_id: Uuid = ZERO_UUID


@message(key=20, versions="0-6", flexible="4+")
class DeleteTopicsRequest(Message):
    topics: list[DeleteTopicState] = wire("6+", default=[])
    topic_names: list[String] = wire("0-5", default=[], ignorable=True)
    timeout_ms: Int32 = 0


@struct
class DeletableTopicResult(Struct):
    name: String | None = wire(default="", null="6+")
    topic_id: Uuid = wire("6+", default=ZERO_UUID, ignorable=True)
    error_code: Int16 = 0
    error_message: String | None = wire("5+", default=None, null="5+", ignorable=True)


@message(key=20, versions="0-6", flexible="4+")
class DeleteTopicsResponse(Message):
    throttle_time_ms: Int32 = wire("1+", default=0, ignorable=True)
    responses: list[DeletableTopicResult] = wire(default=[])
