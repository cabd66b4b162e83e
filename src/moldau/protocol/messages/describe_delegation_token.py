"""DescribeDelegationToken (41): list delegation tokens.

v1: throttled answers are sent before the throttling (KIP-219).
v2: flexible.
v3: who asked for a token (KIP-373); answer + token_requester_principal_type, token_requester_principal_name.
"""

from __future__ import annotations

from moldau.protocol.schema import Bytes, Int16, Int32, Int64, Message, String, Struct, message, struct, wire


@struct
class DescribeDelegationTokenOwner(Struct):
    principal_type: String = ""
    principal_name: String = ""


@message(key=41, versions="0-3", flexible="2+")
class DescribeDelegationTokenRequest(Message):
    owners: list[DescribeDelegationTokenOwner] | None = wire(default=[], null="0+")


@struct
class DescribedDelegationTokenRenewer(Struct):
    principal_type: String = ""
    principal_name: String = ""


@struct
class DescribedDelegationToken(Struct):
    principal_type: String = ""
    principal_name: String = ""
    token_requester_principal_type: String = wire("3+", default="")
    token_requester_principal_name: String = wire("3+", default="")
    issue_timestamp: Int64 = 0
    expiry_timestamp: Int64 = 0
    max_timestamp: Int64 = 0
    token_id: String = ""
    hmac: Bytes = b""
    renewers: list[DescribedDelegationTokenRenewer] = wire(default=[])


@message(key=41, versions="0-3", flexible="2+")
class DescribeDelegationTokenResponse(Message):
    error_code: Int16 = 0
    tokens: list[DescribedDelegationToken] = wire(default=[])
    throttle_time_ms: Int32 = 0
