"""IncrementalAlterConfigs (44): set, delete, append to and subtract from settings (KIP-339).

v1: flexible.
"""

from __future__ import annotations

from moldau.protocol.schema import Bool, Int8, Int16, Int32, Message, String, Struct, message, struct, wire


@struct
class AlterableConfig(Struct):
    name: String = ""
    config_operation: Int8 = 0
    value: String | None = wire(default=None, null="0+")


@struct
class AlterConfigsResource(Struct):
    resource_type: Int8 = 0
    resource_name: String = ""
    configs: list[AlterableConfig] = wire(default=[])


@message(key=44, versions="0-1", flexible="1+")
class IncrementalAlterConfigsRequest(Message):
    resources: list[AlterConfigsResource] = wire(default=[])
    validate_only: Bool = False


@struct
class AlterConfigsResourceResponse(Struct):
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    resource_type: Int8 = 0
    resource_name: String = ""


@message(key=44, versions="0-1", flexible="1+")
class IncrementalAlterConfigsResponse(Message):
    throttle_time_ms: Int32 = 0
    responses: list[AlterConfigsResourceResponse] = wire(default=[])
