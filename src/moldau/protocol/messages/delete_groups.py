"""DeleteGroups (42): delete empty groups.

v1: throttled answers are sent before the throttling (KIP-219).
v2: flexible.
"""

from __future__ import annotations

from moldau.protocol.schema import Int16, Int32, Message, String, Struct, message, struct, wire


@message(key=42, versions="0-2", flexible="2+")
class DeleteGroupsRequest(Message):
    groups_names: list[String] = wire(default=[])


@struct
class DeletableGroupResult(Struct):
    group_id: String = ""
    error_code: Int16 = 0


@message(key=42, versions="0-2", flexible="2+")
class DeleteGroupsResponse(Message):
    throttle_time_ms: Int32 = 0
    results: list[DeletableGroupResult] = wire(default=[])
