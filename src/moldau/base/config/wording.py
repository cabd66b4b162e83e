"""How the columns of a row are put into words, for the document and the help text alike."""

from __future__ import annotations

from typing import Final

from moldau.base.config.schema import IMPLEMENTED, INT_MAX, LONG_MAX, NO_EFFECT, Dynamic, Required, Scope, Setting
from moldau.base.config.value_types import Value, render

_LENGTH_MAX: Final = 120
_TIMES: Final = ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1_000, "second"))
_SIZES: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def default_text(row: Setting) -> str:
    """The default, and what it amounts to where it is a long time or a large size."""
    if isinstance(row.default, Required):
        return "required"
    if row.default is None:
        return "null"
    text = render(row.default)
    return f"{text}{_in_larger_units(row.name, row.default)}" if text else "empty"


def _in_larger_units(name: str, value: Value) -> str:
    if not isinstance(value, int) or isinstance(value, bool):
        return ""
    if value in (INT_MAX, LONG_MAX):
        return " (no limit)"
    if name.endswith(".ms"):
        for unit_ms, unit in _TIMES:
            if value >= unit_ms and value % unit_ms == 0:
                return f" ({value // unit_ms} {unit}{'s' if value > unit_ms else ''})"
    if name.endswith(("bytes", ".size", ".memory")):
        for unit_bytes, unit in _SIZES:
            if value >= unit_bytes and value % unit_bytes == 0:
                return f" ({value // unit_bytes} {unit})"
    return ""


def allowed_text(row: Setting) -> str:
    """What is allowed, in Kafka's notation; of a very long list only its ends."""
    text = row.allowed.describe()
    if len(text) > _LENGTH_MAX:
        items = text.split(", ")
        return f"{items[0]}, {items[1]}, …, {items[-1]}"
    return text


def dynamic_text(row: Setting) -> str:
    return "" if row.dynamic is Dynamic.READ_ONLY else row.dynamic.value


def effect_text(row: Setting) -> str:
    if row.effect is IMPLEMENTED:
        return "yes"
    return f"no effect: {row.why}" if row.effect is NO_EFFECT else "not implemented"


def fallback_text(scope: Scope, row: Setting) -> str:
    """Where the value comes from when the setting is not given."""
    if not row.synonyms:
        return ""
    if scope is Scope.TOPIC:
        return f"Inherits `{row.synonyms[0].name}`."
    names = (f"`{s.name}`" + (f" times {s.factor}" if s.factor > 1 else "") for s in row.synonyms)
    return f"If null: {', then '.join(names)}."
