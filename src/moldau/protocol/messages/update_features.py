"""UpdateFeatures (57): change the finalized feature versions of a cluster (KIP-584).

Flexible from the start.

v1: kinds of upgrade, and only validate (KIP-778); request + upgrade_type, validate_only; request - allow_downgrade.
v2: one error for all; answer - results.
"""

from __future__ import annotations

from moldau.protocol.schema import Bool, Int8, Int16, Int32, Message, String, Struct, message, struct, wire


@struct
class FeatureUpdateKey(Struct):
    feature: String = ""
    max_version_level: Int16 = 0
    allow_downgrade: Bool = wire("0", default=False)
    upgrade_type: Int8 = wire("1+", default=1)


@message(key=57, versions="0-2", flexible="0+")
class UpdateFeaturesRequest(Message):
    timeout_ms: Int32 = 60000
    feature_updates: list[FeatureUpdateKey] = wire(default=[])
    validate_only: Bool = wire("1+", default=False)


@struct
class UpdatableFeatureResult(Struct):
    feature: String = ""
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")


@message(key=57, versions="0-2", flexible="0+")
class UpdateFeaturesResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    results: list[UpdatableFeatureResult] = wire("0-1", default=[], ignorable=True)
