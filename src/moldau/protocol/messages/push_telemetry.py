"""PushTelemetry (72): a client pushes its metrics (KIP-714).

Flexible from the start.
"""

from __future__ import annotations

from moldau.protocol.schema import ZERO_UUID, Bool, Bytes, Int8, Int16, Int32, Message, Uuid, message


@message(key=72, versions="0", flexible="0+")
class PushTelemetryRequest(Message):
    client_instance_id: Uuid = ZERO_UUID
    subscription_id: Int32 = 0
    terminating: Bool = False
    compression_type: Int8 = 0
    metrics: Bytes = b""


@message(key=72, versions="0", flexible="0+")
class PushTelemetryResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
