"""`NAME=VALUE` on the command line, beside a file of the same."""

from __future__ import annotations

from collections.abc import Sequence

from moldau.cli.kafka.connecting import settings_in
from moldau.cli.kafka.failures import ToolFailed


def pairs(given: Sequence[str]) -> dict[str, str]:
    """Properties as given; one without a value is empty."""
    found = {}
    for each in given:
        name, _, value = each.partition("=")
        if not name.strip():
            raise ToolFailed(f"{each!r} is not a property: write NAME=VALUE")
        found[name.strip()] = value
    return found


def merged(path: str | None, given: Sequence[str]) -> dict[str, object]:
    """The properties of a file, and over them those of the command line."""
    return settings_in(path) | pairs(given)


def is_true(properties: dict[str, object], name: str, default: bool = False) -> bool:
    value = properties.get(name)
    return default if value is None else str(value).strip().lower() == "true"
