"""CreateAcls (30): add access control entries.

v1: prefixed resource patterns (KIP-290); request + resource_pattern_type.
v2: flexible.
v3: user resources (KIP-48).
"""

from __future__ import annotations

from moldau.protocol.schema import Int8, Int16, Int32, Message, String, Struct, message, struct, wire


@struct
class AclCreation(Struct):
    resource_type: Int8 = 0
    resource_name: String = ""
    resource_pattern_type: Int8 = wire("1+", default=3)
    principal: String = ""
    host: String = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


@message(key=30, versions="0-3", flexible="2+")
class CreateAclsRequest(Message):
    creations: list[AclCreation] = wire(default=[])


@struct
class AclCreationResult(Struct):
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")


@message(key=30, versions="0-3", flexible="2+")
class CreateAclsResponse(Message):
    throttle_time_ms: Int32 = 0
    results: list[AclCreationResult] = wire(default=[])
