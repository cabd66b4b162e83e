"""/feature: which versions of the cluster's features are in force (KIP-584); Moldau, like 3.9, has none to raise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from moldau.cluster.znodes.content import JsonObject, encode_json
from moldau.cluster.znodes.layout import FEATURE

VERSION = 2


class FeatureStatus(IntEnum):
    DISABLED = 0
    ENABLED = 1


@dataclass(frozen=True, slots=True)
class FinalizedFeatures:
    status: FeatureStatus = FeatureStatus.ENABLED
    features: Mapping[str, int] = field(default_factory=dict)
    """The highest version of each that is in force."""

    def encode(self) -> bytes:
        return encode_json({"version": VERSION, "status": int(self.status), "features": dict(self.features)})

    @classmethod
    def decode(cls, data: bytes | None) -> FinalizedFeatures:
        content = JsonObject.parse(FEATURE, data)
        version = content.expect_version(1, VERSION)
        status = content.integer("status")
        if status not in (FeatureStatus.DISABLED, FeatureStatus.ENABLED):
            content.fail(f"status is {status}, expected 0 or 1")
        features = content.nested("features")
        if version == 1:  # with the lowest version in force as well
            levels = {name: features.nested(name).integer("max_version_level") for name in features.names()}
        else:
            levels = {name: features.integer(name) for name in features.names()}
        return cls(FeatureStatus(status), levels)
