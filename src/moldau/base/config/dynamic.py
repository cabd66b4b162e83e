"""Which settings may be changed while a broker runs, and for whom (KIP-226).

A cluster-wide setting can be set for all brokers or for one; a per-broker setting only for one. A setting of one
listener is per-broker, except for the few limits that make sense everywhere. Key and trust stores can be changed
for a named listener only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from moldau.base.config.schema import Dynamic, Schema

_CLUSTER_WIDE_PER_LISTENER: Final = ("max.connections", "max.connection.creation.rate", "num.network.threads")
_ONLY_PER_LISTENER: Final = ("ssl.keystore.", "ssl.truststore.", "ssl.key.password")


def dynamic_problems(schema: Schema, entries: Mapping[str, object], *, per_broker: bool) -> list[str]:
    """What speaks against setting these names dynamically, for one broker or for all."""
    read_only: list[str] = []
    needs_broker: list[str] = []
    needs_listener: list[str] = []
    for name in entries:
        row = schema.find(name)
        if row is None:
            continue
        of_listener = row.name != name
        if row.dynamic is Dynamic.READ_ONLY:
            read_only.append(name)
        elif not of_listener and name.startswith(_ONLY_PER_LISTENER):
            needs_listener.append(name)
        elif not per_broker and (
            row.dynamic is Dynamic.PER_BROKER or (of_listener and row.name not in _CLUSTER_WIDE_PER_LISTENER)
        ):
            needs_broker.append(name)
    found = {
        "Cannot update these configs dynamically": read_only,
        "These security configs can be dynamically updated only per-listener using the listener prefix": needs_listener,
        "Cannot update these configs at default cluster level, broker id must be specified": needs_broker,
    }
    return [f"{text}: {', '.join(sorted(names))}" for text, names in found.items() if names]
