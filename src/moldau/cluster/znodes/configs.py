"""/config/<type>/<entity>: the settings that were given to a topic, broker, user, client or address; and the
notifications below /config/changes that make every broker read them.

Only overrides are stored, values always as text. A notification of version 1 names type and entity, one of version 2
their path, so that a client of a user can be named.
"""

from __future__ import annotations

from collections.abc import Mapping

from moldau.cluster.znodes.content import JsonObject, encode_json

ENTITY_VERSION = 1
CHANGE_VERSION = 2


def encode_config(config: Mapping[str, str]) -> bytes:
    return encode_json({"version": ENTITY_VERSION, "config": dict(config)})


def decode_config(path: str, data: bytes | None) -> dict[str, str]:
    """Null and empty data mean no settings: so are the parents of nested entities."""
    if not data:
        return {}
    content = JsonObject.parse(path, data)
    content.expect_version(ENTITY_VERSION)
    config = content.nested("config")
    return {name: config.text(name) for name in config.names()}


def encode_config_change(entity_path: str) -> bytes:
    """`entity_path` begins below /config: `topics/orders`."""
    return encode_json({"version": CHANGE_VERSION, "entity_path": entity_path})


def decode_config_change(path: str, data: bytes | None) -> str:
    content = JsonObject.parse(path, data)
    if content.expect_version(1, CHANGE_VERSION) == 1:
        return f"{content.text('entity_type')}/{content.text('entity_name')}"
    return content.text("entity_path")
