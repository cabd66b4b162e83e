"""DescribeClientQuotas (48): list quotas (KIP-546).

v1: flexible.
"""

from __future__ import annotations

from moldau.protocol.schema import Bool, Float64, Int8, Int16, Int32, Message, String, Struct, message, struct, wire


@struct
class ComponentData(Struct):
    entity_type: String = ""
    match_type: Int8 = 0
    match: String | None = wire(default=None, null="0+")


@message(key=48, versions="0-1", flexible="1+")
class DescribeClientQuotasRequest(Message):
    components: list[ComponentData] = wire(default=[])
    strict: Bool = False


@struct
class EntityData(Struct):
    entity_type: String = ""
    entity_name: String | None = wire(default=None, null="0+")


@struct
class ValueData(Struct):
    key: String = ""
    value: Float64 = 0.0


@struct
class EntryData(Struct):
    entity: list[EntityData] = wire(default=[])
    values: list[ValueData] = wire(default=[])


@message(key=48, versions="0-1", flexible="1+")
class DescribeClientQuotasResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    entries: list[EntryData] | None = wire(default=[], null="0+")
