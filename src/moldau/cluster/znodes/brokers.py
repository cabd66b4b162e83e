"""/brokers/ids/<id>: a broker that lives, as an ephemeral of its session.

The czxid of the znode is the broker's epoch. Version 5 (KIP-584) added features to version 4 (KIP-103), whose map gives
each listener its security protocol; versions 1 to 3 have a host and a port, or endpoints named by their protocol.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from moldau.cluster.znodes.content import JsonObject, encode_json
from moldau.cluster.znodes.layout import broker_path

VERSION = 5
_ENDPOINT = re.compile(r"([^:/]+)://(?:\[([^\]]*)\]|([^:\[\]]*)):(\d{1,5})")


@dataclass(frozen=True, slots=True)
class Endpoint:
    listener: str
    host: str
    port: int
    security_protocol: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener}://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class FeatureVersions:
    min_version: int
    max_version: int


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    endpoints: tuple[Endpoint, ...]
    timestamp_ms: int
    rack: str | None = None
    jmx_port: int = -1
    features: Mapping[str, FeatureVersions] = field(default_factory=dict)

    def encode(self) -> bytes:
        plain = next((endpoint for endpoint in self.endpoints if endpoint.security_protocol == "PLAINTEXT"), None)
        content: dict[str, object] = {
            "version": VERSION,
            "host": None if plain is None else plain.host,
            "port": -1 if plain is None else plain.port,
            "jmx_port": self.jmx_port,
            "timestamp": str(self.timestamp_ms),
            "endpoints": [str(endpoint) for endpoint in self.endpoints],
            "listener_security_protocol_map": {
                endpoint.listener: endpoint.security_protocol for endpoint in self.endpoints
            },
        }
        if self.rack is not None:
            content["rack"] = self.rack
        content["features"] = {
            name: {"min_version": versions.min_version, "max_version": versions.max_version}
            for name, versions in self.features.items()
        }
        return encode_json(content)

    @classmethod
    def decode(cls, broker_id: int, data: bytes | None) -> BrokerRegistration:
        content = JsonObject.parse(broker_path(broker_id), data)
        version = content.expect_version(1, VERSION)
        features = content.nested("features")
        return cls(
            endpoints=_endpoints(content, version),
            timestamp_ms=content.integer_in_text("timestamp") if content.has("timestamp") else -1,
            rack=content.text_or_none("rack"),
            jmx_port=content.integer("jmx_port", -1),
            features={name: _feature(features.nested(name)) for name in features.names()},
        )


def _endpoints(content: JsonObject, version: int) -> tuple[Endpoint, ...]:
    if version == 1:
        return (Endpoint("PLAINTEXT", content.text("host"), content.integer("port"), "PLAINTEXT"),)
    protocols = content.nested("listener_security_protocol_map")
    endpoints = []
    for text in content.texts("endpoints"):
        match = _ENDPOINT.fullmatch(text)
        if match is None:
            content.fail(f"endpoint {text[:80]!r} is not LISTENER://host:port")
        listener, bracketed, host, port = match.groups()
        endpoints.append(
            Endpoint(listener, host if bracketed is None else bracketed, int(port), protocols.text(listener, listener))
        )
    return tuple(endpoints)


def _feature(content: JsonObject) -> FeatureVersions:
    return FeatureVersions(content.integer("min_version"), content.integer("max_version"))
