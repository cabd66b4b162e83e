"""JoinGroup (11): become a member of a group, and wait for the others.

v1: a rebalance timeout of its own; request + rebalance_timeout_ms.
v2: answer + throttle_time_ms.
v3: throttled answers are sent before the throttling (KIP-219).
v4: a new member gets its id first and joins again with it (KIP-394).
v5: static members (KIP-345); request + group_instance_id; answer + group_instance_id.
v6: flexible.
v7: the protocol's type and name in the answer may be null; answer + protocol_type.
v8: a reason (KIP-800); request + reason.
v9: a static leader may be told to keep the assignment (KIP-814); answer + skip_assignment.
"""

from __future__ import annotations

from moldau.protocol.schema import Bool, Bytes, Int16, Int32, Message, String, Struct, message, struct, wire


@struct
class JoinGroupRequestProtocol(Struct):
    name: String = ""
    metadata: Bytes = b""


@message(key=11, versions="0-9", flexible="6+")
class JoinGroupRequest(Message):
    group_id: String = ""
    session_timeout_ms: Int32 = 0
    rebalance_timeout_ms: Int32 = wire("1+", default=-1, ignorable=True)
    member_id: String = ""
    group_instance_id: String | None = wire("5+", default=None, null="5+")
    protocol_type: String = ""
    protocols: list[JoinGroupRequestProtocol] = wire(default=[])
    reason: String | None = wire("8+", default=None, null="8+", ignorable=True)


@struct
class JoinGroupResponseMember(Struct):
    member_id: String = ""
    group_instance_id: String | None = wire("5+", default=None, null="5+", ignorable=True)
    metadata: Bytes = b""


@message(key=11, versions="0-9", flexible="6+")
class JoinGroupResponse(Message):
    throttle_time_ms: Int32 = wire("2+", default=0, ignorable=True)
    error_code: Int16 = 0
    generation_id: Int32 = -1
    protocol_type: String | None = wire("7+", default=None, null="7+", ignorable=True)
    protocol_name: String | None = wire(default="", null="7+")
    leader: String = ""
    skip_assignment: Bool = wire("9+", default=False)
    member_id: String = ""
    members: list[JoinGroupResponseMember] = wire(default=[])
