"""DescribeConfigs (32): the settings of topics and brokers, and where their values come from.

v1: sources and synonyms (KIP-226); request + include_synonyms; answer + config_source, synonyms; answer -
    is_default.
v2: throttled answers are sent before the throttling (KIP-219).
v3: types and documentation (KIP-569); request + include_documentation; answer + config_type, documentation.
v4: flexible.
"""

from __future__ import annotations

from moldau.protocol.schema import Bool, Int8, Int16, Int32, Message, String, Struct, message, struct, wire


@struct
class DescribeConfigsResource(Struct):
    resource_type: Int8 = 0
    resource_name: String = ""
    configuration_keys: list[String] | None = wire(default=[], null="0+")


@message(key=32, versions="0-4", flexible="4+")
class DescribeConfigsRequest(Message):
    resources: list[DescribeConfigsResource] = wire(default=[])
    include_synonyms: Bool = wire("1+", default=False)
    include_documentation: Bool = wire("3+", default=False)


@struct
class DescribeConfigsSynonym(Struct):
    name: String = ""
    value: String | None = wire(default=None, null="0+")
    source: Int8 = 0


@struct
class DescribeConfigsResourceResult(Struct):
    name: String = ""
    value: String | None = wire(default=None, null="0+")
    read_only: Bool = False
    is_default: Bool = wire("0", default=False)
    config_source: Int8 = wire("1+", default=-1, ignorable=True)
    is_sensitive: Bool = False
    synonyms: list[DescribeConfigsSynonym] = wire("1+", default=[], ignorable=True)
    config_type: Int8 = wire("3+", default=0, ignorable=True)
    documentation: String | None = wire("3+", default=None, null="0+", ignorable=True)


@struct
class DescribeConfigsResult(Struct):
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    resource_type: Int8 = 0
    resource_name: String = ""
    configs: list[DescribeConfigsResourceResult] = wire(default=[])


@message(key=32, versions="0-4", flexible="4+")
class DescribeConfigsResponse(Message):
    throttle_time_ms: Int32 = 0
    results: list[DescribeConfigsResult] = wire(default=[])
