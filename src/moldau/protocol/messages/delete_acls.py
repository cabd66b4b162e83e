"""DeleteAcls (31): remove access control entries that match filters.

v1: prefixed resource patterns (KIP-290); request + pattern_type_filter; answer + pattern_type.
v2: flexible.
v3: user resources (KIP-48).
"""

from __future__ import annotations

from moldau.protocol.schema import Int8, Int16, Int32, Message, String, Struct, message, struct, wire


@struct
class DeleteAclsFilter(Struct):
    resource_type_filter: Int8 = 0
    resource_name_filter: String | None = wire(default=None, null="0+")
    pattern_type_filter: Int8 = wire("1+", default=3)
    principal_filter: String | None = wire(default=None, null="0+")
    host_filter: String | None = wire(default=None, null="0+")
    operation: Int8 = 0
    permission_type: Int8 = 0


@message(key=31, versions="0-3", flexible="2+")
class DeleteAclsRequest(Message):
    filters: list[DeleteAclsFilter] = wire(default=[])


@struct
class DeleteAclsMatchingAcl(Struct):
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    resource_type: Int8 = 0
    resource_name: String = ""
    pattern_type: Int8 = wire("1+", default=3)
    principal: String = ""
    host: String = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


@struct
class DeleteAclsFilterResult(Struct):
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    matching_acls: list[DeleteAclsMatchingAcl] = wire(default=[])


@message(key=31, versions="0-3", flexible="2+")
class DeleteAclsResponse(Message):
    throttle_time_ms: Int32 = 0
    filter_results: list[DeleteAclsFilterResult] = wire(default=[])
