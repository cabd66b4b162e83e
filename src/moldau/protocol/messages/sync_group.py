"""SyncGroup (14): the leader hands in the assignment, each member gets its own.

v1: answer + throttle_time_ms.
v2: throttled answers are sent before the throttling (KIP-219).
v3: static members (KIP-345); request + group_instance_id.
v4: flexible.
v5: the protocol's type and name are checked (KIP-559); request + protocol_type, protocol_name; answer +
    protocol_type, protocol_name.
"""

from __future__ import annotations

from moldau.protocol.schema import Bytes, Int16, Int32, Message, String, Struct, message, struct, wire


@struct
class SyncGroupRequestAssignment(Struct):
    member_id: String = ""
    assignment: Bytes = b""


@message(key=14, versions="0-5", flexible="4+")
class SyncGroupRequest(Message):
    group_id: String = ""
    generation_id: Int32 = 0
    member_id: String = ""
    group_instance_id: String | None = wire("3+", default=None, null="3+")
    protocol_type: String | None = wire("5+", default=None, null="5+", ignorable=True)
    protocol_name: String | None = wire("5+", default=None, null="5+", ignorable=True)
    assignments: list[SyncGroupRequestAssignment] = wire(default=[])


@message(key=14, versions="0-5", flexible="4+")
class SyncGroupResponse(Message):
    throttle_time_ms: Int32 = wire("1+", default=0, ignorable=True)
    error_code: Int16 = 0
    protocol_type: String | None = wire("5+", default=None, null="5+", ignorable=True)
    protocol_name: String | None = wire("5+", default=None, null="5+", ignorable=True)
    assignment: Bytes = b""
