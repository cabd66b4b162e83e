"""CreateDelegationToken (38): issue a delegation token.

v1: throttled answers are sent before the throttling (KIP-219).
v2: flexible.
v3: tokens for other users (KIP-373); request + owner_principal_type, owner_principal_name; answer +
    token_requester_principal_type, token_requester_principal_name.
"""

from __future__ import annotations

from moldau.protocol.schema import Bytes, Int16, Int32, Int64, Message, String, Struct, message, struct, wire


@struct
class CreatableRenewers(Struct):
    principal_type: String = ""
    principal_name: String = ""


@message(key=38, versions="0-3", flexible="2+")
class CreateDelegationTokenRequest(Message):
    owner_principal_type: String | None = wire("3+", default=None, null="3+")
    owner_principal_name: String | None = wire("3+", default=None, null="3+")
    renewers: list[CreatableRenewers] = wire(default=[])
    max_lifetime_ms: Int64 = 0


@message(key=38, versions="0-3", flexible="2+")
class CreateDelegationTokenResponse(Message):
    error_code: Int16 = 0
    principal_type: String = ""
    principal_name: String = ""
    token_requester_principal_type: String = wire("3+", default="")
    token_requester_principal_name: String = wire("3+", default="")
    issue_timestamp_ms: Int64 = 0
    expiry_timestamp_ms: Int64 = 0
    max_timestamp_ms: Int64 = 0
    token_id: String = ""
    hmac: Bytes = b""
    throttle_time_ms: Int32 = 0
