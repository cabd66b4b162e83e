"""FindCoordinator (10): find the broker that coordinates groups, transactions or share state.

v1: a key type: 0 group, 1 transaction (KIP-98); request + key_type; answer + throttle_time_ms, error_message.
v2: throttled answers are sent before the throttling (KIP-219).
v3: flexible.
v4: several keys in one request (KIP-699); request + coordinator_keys; request - key; answer + coordinators; answer
    - error_code, error_message, node_id, host, port.
v5: TRANSACTION_ABORTABLE may be answered (KIP-890).
v6: key type 2: share groups (KIP-932).
"""

from __future__ import annotations

from moldau.protocol.schema import Int8, Int16, Int32, Message, String, Struct, message, struct, wire


@message(key=10, versions="0-6", flexible="3+")
class FindCoordinatorRequest(Message):
    key: String = wire("0-3", default="")
    key_type: Int8 = wire("1+", default=0)
    coordinator_keys: list[String] = wire("4+", default=[])


@struct
class Coordinator(Struct):
    key: String = ""
    node_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")


@message(key=10, versions="0-6", flexible="3+")
class FindCoordinatorResponse(Message):
    throttle_time_ms: Int32 = wire("1+", default=0, ignorable=True)
    error_code: Int16 = wire("0-3", default=0)
    error_message: String | None = wire("1-3", default=None, null="1-3", ignorable=True)
    node_id: Int32 = wire("0-3", default=0)
    host: String = wire("0-3", default="")
    port: Int32 = wire("0-3", default=0)
    coordinators: list[Coordinator] = wire("4+", default=[])
