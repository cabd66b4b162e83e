"""Classes that settings name: Java's names stand for ours, any other name is a Python class.

Files written for Kafka say `org.apache.kafka.common.serialization.StringSerializer`. Whoever owns a kind of class
(serializers, assignors, authorizers …) has a table of the Java names it answers to; everything else is the dotted path
of a Python class, `package.module.Class`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from moldau.base.config.value_types import invalid


def load_class(setting: str, value: str | type[object], aliases: Mapping[str, str]) -> type[object]:
    """The class that a setting's value stands for; `aliases` maps Java names to dotted paths of ours."""
    if isinstance(value, type):
        return value
    module, _, name = aliases.get(value, value).rpartition(".")
    try:
        found = getattr(import_module(module), name) if module and name else None
    except (ImportError, AttributeError):
        found = None
    if not isinstance(found, type):
        known = f" Java names known here: {', '.join(sorted(aliases))}." if aliases else ""
        raise invalid(setting, value, f"Class {value} could not be found.{known}")
    return found
