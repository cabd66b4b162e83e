"""DescribeGroups (15): the state and the members of classic groups.

v1: answer + throttle_time_ms.
v2: throttled answers are sent before the throttling (KIP-219).
v3: authorized operations (KIP-430); request + include_authorized_operations; answer + authorized_operations.
v4: static members (KIP-345); answer + group_instance_id.
v5: flexible.
v6: GROUP_ID_NOT_FOUND with a message instead of state Dead (KIP-1043); answer + error_message.
"""

from __future__ import annotations

from moldau.protocol.schema import Bool, Bytes, Int16, Int32, Message, String, Struct, message, struct, wire


@message(key=15, versions="0-6", flexible="5+")
class DescribeGroupsRequest(Message):
    groups: list[String] = wire(default=[])
    include_authorized_operations: Bool = wire("3+", default=False)


@struct
class DescribedGroupMember(Struct):
    member_id: String = ""
    group_instance_id: String | None = wire("4+", default=None, null="4+", ignorable=True)
    client_id: String = ""
    client_host: String = ""
    member_metadata: Bytes = b""
    member_assignment: Bytes = b""


@struct
class DescribedGroup(Struct):
    error_code: Int16 = 0
    error_message: String | None = wire("6+", default=None, null="6+")
    group_id: String = ""
    group_state: String = ""
    protocol_type: String = ""
    protocol_data: String = ""
    members: list[DescribedGroupMember] = wire(default=[])
    authorized_operations: Int32 = wire("3+", default=-2147483648)


@message(key=15, versions="0-6", flexible="5+")
class DescribeGroupsResponse(Message):
    throttle_time_ms: Int32 = wire("1+", default=0, ignorable=True)
    groups: list[DescribedGroup] = wire(default=[])
