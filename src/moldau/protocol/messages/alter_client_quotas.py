"""AlterClientQuotas (49): set and remove quotas (KIP-546).

v1: flexible.
"""

from __future__ import annotations

from moldau.protocol.schema import Bool, Float64, Int16, Int32, Message, String, Struct, message, struct, wire


@struct
class EntityData(Struct):
    entity_type: String = ""
    entity_name: String | None = wire(default=None, null="0+")


@struct
class OpData(Struct):
    key: String = ""
    value: Float64 = 0.0
    remove: Bool = False


@struct
class RequestEntryData(Struct):
    entity: list[EntityData] = wire(default=[])
    ops: list[OpData] = wire(default=[])


@message(key=49, versions="0-1", flexible="1+")
class AlterClientQuotasRequest(Message):
    entries: list[RequestEntryData] = wire(default=[])
    validate_only: Bool = False


@struct
class ResponseEntryData(Struct):
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    entity: list[EntityData] = wire(default=[])


@message(key=49, versions="0-1", flexible="1+")
class AlterClientQuotasResponse(Message):
    throttle_time_ms: Int32 = 0
    entries: list[ResponseEntryData] = wire(default=[])
