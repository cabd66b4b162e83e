"""SaslHandshake: a client asks for a SASL mechanism where there is nothing to authenticate.

On a listener with SASL the exchange is over before requests are handled, so a request that arrives here was sent to a
listener without SASL, or once too often; Kafka answers both in the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from moldau.broker.node import Node


@handles(ApiKey.SASL_HANDSHAKE, "0-1")
def sasl_handshake(_node: Node, _request: SaslHandshakeRequest, _call: Call) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
