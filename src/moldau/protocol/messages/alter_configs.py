"""AlterConfigs (33): replace all settings of topics and brokers.

v1: throttled answers are sent before the throttling (KIP-219).
v2: flexible.
"""

from __future__ import annotations

from moldau.protocol.schema import Bool, Int8, Int16, Int32, Message, String, Struct, message, struct, wire


@struct
class AlterableConfig(Struct):
    name: String = ""
    value: String | None = wire(default=None, null="0+")


@struct
class AlterConfigsResource(Struct):
    resource_type: Int8 = 0
    resource_name: String = ""
    configs: list[AlterableConfig] = wire(default=[])


@message(key=33, versions="0-2", flexible="2+")
class AlterConfigsRequest(Message):
    resources: list[AlterConfigsResource] = wire(default=[])
    validate_only: Bool = False


@struct
class AlterConfigsResourceResponse(Struct):
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    resource_type: Int8 = 0
    resource_name: String = ""


@message(key=33, versions="0-2", flexible="2+")
class AlterConfigsResponse(Message):
    throttle_time_ms: Int32 = 0
    responses: list[AlterConfigsResourceResponse] = wire(default=[])
