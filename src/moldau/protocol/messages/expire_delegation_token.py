"""ExpireDelegationToken (40): shorten the life of a delegation token, or end it.

v1: throttled answers are sent before the throttling (KIP-219).
v2: flexible.
"""

from __future__ import annotations

from moldau.protocol.schema import Bytes, Int16, Int32, Int64, Message, message


@message(key=40, versions="0-2", flexible="2+")
class ExpireDelegationTokenRequest(Message):
    hmac: Bytes = b""
    expiry_time_period_ms: Int64 = 0


@message(key=40, versions="0-2", flexible="2+")
class ExpireDelegationTokenResponse(Message):
    error_code: Int16 = 0
    expiry_timestamp_ms: Int64 = 0
    throttle_time_ms: Int32 = 0
