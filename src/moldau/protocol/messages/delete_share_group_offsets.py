"""DeleteShareGroupOffsets (92): delete the start offsets of a share group (KIP-932).

Flexible from the start.
"""

from __future__ import annotations

from moldau.protocol.schema import ZERO_UUID, Int16, Int32, Message, String, Struct, Uuid, message, struct, wire


@struct
class DeleteShareGroupOffsetsRequestTopic(Struct):
    topic_name: String = ""


@message(key=92, versions="0", flexible="0+")
class DeleteShareGroupOffsetsRequest(Message):
    group_id: String = ""
    topics: list[DeleteShareGroupOffsetsRequestTopic] = wire(default=[])


@struct
class DeleteShareGroupOffsetsResponseTopic(Struct):
    topic_name: String = ""
    topic_id: Uuid = ZERO_UUID
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")


@message(key=92, versions="0", flexible="0+")
class DeleteShareGroupOffsetsResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    responses: list[DeleteShareGroupOffsetsResponseTopic] = wire(default=[])
