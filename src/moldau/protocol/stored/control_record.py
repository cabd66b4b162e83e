"""The key of a control record, and the value of an end-of-transaction marker (KIP-98)."""

from __future__ import annotations

from moldau.protocol.schema import Int16, Int32, Message, message


@message(versions="0")
class ControlRecordTypeSchema(Message):
    type: Int16 = 0


@message(versions="0")
class EndTxnMarker(Message):
    coordinator_epoch: Int32 = 0
