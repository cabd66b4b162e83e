"""SaslAuthenticate: a token that no exchange is waiting for (see SaslHandshake)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse

if TYPE_CHECKING:
    from moldau.broker.node import Node


@handles(ApiKey.SASL_AUTHENTICATE, "0-2")
def sasl_authenticate(_node: Node, _request: SaslAuthenticateRequest, call: Call) -> SaslAuthenticateResponse:
    listener = call.answer.connection.listener
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message=f"SaslAuthenticate is not expected here: listener {listener} does not use SASL, "
        "or the client is authenticated already.",
    )
