"""ListGroups (16): the groups that a broker coordinates.

v1: answer + throttle_time_ms.
v2: throttled answers are sent before the throttling (KIP-219).
v3: flexible.
v4: filter by state (KIP-518); request + states_filter; answer + group_state.
v5: filter by type (KIP-848); request + types_filter; answer + group_type.
"""

from __future__ import annotations

from moldau.protocol.schema import Int16, Int32, Message, String, Struct, message, struct, wire


@message(key=16, versions="0-5", flexible="3+")
class ListGroupsRequest(Message):
    states_filter: list[String] = wire("4+", default=[])
    types_filter: list[String] = wire("5+", default=[])


@struct
class ListedGroup(Struct):
    group_id: String = ""
    protocol_type: String = ""
    group_state: String = wire("4+", default="", ignorable=True)
    group_type: String = wire("5+", default="", ignorable=True)


@message(key=16, versions="0-5", flexible="3+")
class ListGroupsResponse(Message):
    throttle_time_ms: Int32 = wire("1+", default=0, ignorable=True)
    error_code: Int16 = 0
    groups: list[ListedGroup] = wire(default=[])
