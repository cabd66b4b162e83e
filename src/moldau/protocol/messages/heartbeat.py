"""Heartbeat (12): a member tells its coordinator that it is alive.

v1: answer + throttle_time_ms.
v2: throttled answers are sent before the throttling (KIP-219).
v3: static members (KIP-345); request + group_instance_id.
v4: flexible.
"""

from __future__ import annotations

from moldau.protocol.schema import Int16, Int32, Message, String, message, wire


@message(key=12, versions="0-4", flexible="4+")
class HeartbeatRequest(Message):
    group_id: String = ""
    generation_id: Int32 = 0
    member_id: String = ""
    group_instance_id: String | None = wire("3+", default=None, null="3+")


@message(key=12, versions="0-4", flexible="4+")
class HeartbeatResponse(Message):
    throttle_time_ms: Int32 = wire("1+", default=0, ignorable=True)
    error_code: Int16 = 0
