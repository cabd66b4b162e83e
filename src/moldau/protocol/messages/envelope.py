"""Envelope (58): a request that a broker forwards to the controller for its client (KIP-590).

Flexible from the start.
"""

from __future__ import annotations

from moldau.protocol.schema import Bytes, Int16, Message, message, wire


@message(key=58, versions="0", flexible="0+")
class EnvelopeRequest(Message):
    request_data: Bytes = b""
    request_principal: Bytes | None = wire(default=None, null="0+")
    client_host_address: Bytes = b""


@message(key=58, versions="0", flexible="0+")
class EnvelopeResponse(Message):
    response_data: Bytes | None = wire(default=None, null="0+")
    error_code: Int16 = 0
