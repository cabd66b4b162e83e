"""ApiVersions (18): which requests and versions the other side speaks.

v1: answer + throttle_time_ms.
v2: throttled answers are sent before the throttling (KIP-219).
v3: the client's name and version (KIP-511); features (KIP-584). The answer's header stays version 0 for ever, and
    an unknown version is answered in version 0 with UNSUPPORTED_VERSION and the list; request +
    client_software_name, client_software_version; answer + supported_features, finalized_features_epoch,
    finalized_features, zk_migration_ready; flexible.
v4: features with minimum version 0 are listed (KIP-1022).
"""

from __future__ import annotations

from moldau.protocol.schema import Bool, Int16, Int32, Int64, Message, String, Struct, message, struct, wire


@message(key=18, versions="0-4", flexible="3+")
class ApiVersionsRequest(Message):
    client_software_name: String = wire("3+", default="", ignorable=True)
    client_software_version: String = wire("3+", default="", ignorable=True)


@struct
class ApiVersion(Struct):
    api_key: Int16 = 0
    min_version: Int16 = 0
    max_version: Int16 = 0


@struct
class SupportedFeatureKey(Struct):
    name: String = ""
    min_version: Int16 = 0
    max_version: Int16 = 0


@struct
class FinalizedFeatureKey(Struct):
    name: String = ""
    max_version_level: Int16 = 0
    min_version_level: Int16 = 0


@message(key=18, versions="0-4", flexible="3+")
class ApiVersionsResponse(Message):
    error_code: Int16 = 0
    api_keys: list[ApiVersion] = wire(default=[])
    throttle_time_ms: Int32 = wire("1+", default=0, ignorable=True)
    supported_features: list[SupportedFeatureKey] = wire("3+", default=[], tag=0, ignorable=True)
    finalized_features_epoch: Int64 = wire("3+", default=-1, tag=1, ignorable=True)
    finalized_features: list[FinalizedFeatureKey] = wire("3+", default=[], tag=2, ignorable=True)
    zk_migration_ready: Bool = wire("3+", default=False, tag=3, ignorable=True)
