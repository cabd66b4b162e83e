"""UnregisterBroker (64): forget a broker that will not come back, in clusters whose controller remembers them (KRaft).

Flexible from the start.
"""

from __future__ import annotations

from moldau.protocol.schema import Int16, Int32, Message, String, message, wire


@message(key=64, versions="0", flexible="0+")
class UnregisterBrokerRequest(Message):
    broker_id: Int32 = 0


@message(key=64, versions="0", flexible="0+")
class UnregisterBrokerResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
