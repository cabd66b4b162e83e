"""ListConfigResources (74): which resources have settings; in version 0 called ListClientMetricsResources (KIP-1000).

Flexible from the start.

v1: resources of any type (KIP-1142); request + resource_types; answer + resource_type.
"""

from __future__ import annotations

from moldau.protocol.schema import Int8, Int16, Int32, Message, String, Struct, message, struct, wire


@message(key=74, versions="0-1", flexible="0+")
class ListConfigResourcesRequest(Message):
    resource_types: list[Int8] = wire("1+", default=[])


@struct
class ConfigResource(Struct):
    resource_name: String = ""
    resource_type: Int8 = wire("1+", default=16, ignorable=True)


@message(key=74, versions="0-1", flexible="0+")
class ListConfigResourcesResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    config_resources: list[ConfigResource] = wire(default=[])
