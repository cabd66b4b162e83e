"""RenewDelegationToken (39): prolong a delegation token.

v1: throttled answers are sent before the throttling (KIP-219).
v2: flexible.
"""

from __future__ import annotations

from moldau.protocol.schema import Bytes, Int16, Int32, Int64, Message, message


@message(key=39, versions="0-2", flexible="2+")
class RenewDelegationTokenRequest(Message):
    hmac: Bytes = b""
    renew_period_ms: Int64 = 0


@message(key=39, versions="0-2", flexible="2+")
class RenewDelegationTokenResponse(Message):
    error_code: Int16 = 0
    expiry_timestamp_ms: Int64 = 0
    throttle_time_ms: Int32 = 0
