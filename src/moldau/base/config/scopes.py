"""The tables of each scope, imported when first asked for: a producer never loads the broker's."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final

from moldau.base.config.schema import Schema, Scope, Section

_TABLES: Final = {
    Scope.BROKER: (
        "broker_network",
        "broker_log",
        "broker_replication",
        "broker_groups",
        "broker_transactions",
        "broker_security",
        "broker_operation",
        "broker_zookeeper",
        "broker_kraft",
        "broker_remote",
    ),
    Scope.TOPIC: ("topic",),
    Scope.PRODUCER: ("producer",),
    Scope.CONSUMER: ("consumer",),
    Scope.ADMIN: ("admin",),
}
# What plug-ins of remote storage are given under the prefixes that two settings name.
_PASS_THROUGH: Final = {Scope.BROKER: ("rsm.config.", "rlmm.config.")}


@cache
def schema_of(scope: Scope) -> Schema:
    """The table of a scope. Each module of it has its rows in `SECTIONS`."""
    sections: list[Section] = []
    for table in _TABLES[scope]:
        sections += import_module(f"moldau.base.config.tables.{table}").SECTIONS
    return Schema(scope, sections, _PASS_THROUGH.get(scope, ()))
