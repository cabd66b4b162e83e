"""SaslHandshake (17): agree on a SASL mechanism.

v0: the tokens that follow travel bare, without Kafka's headers.
v1: the tokens travel in SaslAuthenticate (KIP-152).
"""

from __future__ import annotations

from moldau.protocol.schema import Int16, Message, String, message, wire


@message(key=17, versions="0-1")
class SaslHandshakeRequest(Message):
    mechanism: String = ""


@message(key=17, versions="0-1")
class SaslHandshakeResponse(Message):
    error_code: Int16 = 0
    mechanisms: list[String] = wire(default=[])
