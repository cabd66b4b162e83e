"""LeaveGroup (13): leave a group, or remove members from it.

v1: answer + throttle_time_ms.
v2: throttled answers are sent before the throttling (KIP-219).
v3: several members, also static ones (KIP-345); request + members; request - member_id; answer + members.
v4: flexible.
v5: a reason (KIP-800); request + reason.
"""

from __future__ import annotations

from moldau.protocol.schema import Int16, Int32, Message, String, Struct, message, struct, wire


@struct
class MemberIdentity(Struct):
    member_id: String = ""
    group_instance_id: String | None = wire(default=None, null="0+")
    reason: String | None = wire("5+", default=None, null="5+", ignorable=True)


@message(key=13, versions="0-5", flexible="4+")
class LeaveGroupRequest(Message):
    group_id: String = ""
    member_id: String = wire("0-2", default="")
    members: list[MemberIdentity] = wire("3+", default=[])


@struct
class MemberResponse(Struct):
    member_id: String = ""
    group_instance_id: String | None = wire(default=None, null="0+")
    error_code: Int16 = 0


@message(key=13, versions="0-5", flexible="4+")
class LeaveGroupResponse(Message):
    throttle_time_ms: Int32 = wire("1+", default=0, ignorable=True)
    error_code: Int16 = 0
    members: list[MemberResponse] = wire("3+", default=[])
