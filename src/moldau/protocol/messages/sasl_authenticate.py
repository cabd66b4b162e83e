"""SaslAuthenticate (36): one step of a SASL exchange.

v1: how long the session lasts (KIP-368); answer + session_lifetime_ms.
v2: flexible.
"""

from __future__ import annotations

from moldau.protocol.schema import Bytes, Int16, Int64, Message, String, message, wire


@message(key=36, versions="0-2", flexible="2+")
class SaslAuthenticateRequest(Message):
    auth_bytes: Bytes = b""


@message(key=36, versions="0-2", flexible="2+")
class SaslAuthenticateResponse(Message):
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    auth_bytes: Bytes = b""
    session_lifetime_ms: Int64 = wire("1+", default=0, ignorable=True)
