"""The operations of IncrementalAlterConfigs (KIP-339): what they make of the settings that are there.

APPEND and SUBTRACT are for lists. Where a list is not set they begin with its default, as Kafka does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

from moldau.base.config.schema import Schema
from moldau.base.config.value_types import ConfigType, render
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError


class OperationType(IntEnum):
    """Numbered as on the wire."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3

    @classmethod
    def of(cls, number: int) -> OperationType:
        try:
            return cls(number)
        except ValueError:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"Unknown operations type {number}") from None


class ConfigOperation(NamedTuple):
    name: str
    type: OperationType
    value: str


def apply_operations(
    schema: Schema, entries: Mapping[str, str], operations: Iterable[ConfigOperation]
) -> dict[str, str]:
    """The settings after the operations; nothing of their values is checked here."""
    changed = dict(entries)
    for name, operation, value in operations:
        match operation:
            case OperationType.SET:
                changed[name] = value
            case OperationType.DELETE:
                changed.pop(name, None)
            case OperationType.APPEND:
                items = _items(schema, changed, name, "append")
                changed[name] = ",".join(items + [item for item in value.split(",") if item not in items])
            case OperationType.SUBTRACT:
                items = _items(schema, changed, name, "subtract")
                for item in value.split(","):
                    if item in items:
                        items.remove(item)
                changed[name] = ",".join(items)
    return changed


def _items(schema: Schema, entries: Mapping[str, str], name: str, verb: str) -> list[str]:
    row = schema.find(name)
    if row is None:
        raise ApiError(ErrorCode.INVALID_CONFIG, f"Unknown config name: {name}")
    if row.type is not ConfigType.LIST:
        raise ApiError(ErrorCode.INVALID_CONFIG, f"Config value {verb} is not allowed for config key: {name}")
    text = entries.get(name, render(row.value_of_default()))
    return text.split(",") if text else []
