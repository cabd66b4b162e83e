"""The nine types a setting can have, and how text becomes a value and a value becomes text.

Parsing follows Kafka's ConfigDef to the letter, because the same files and the same requests must mean the same
here: only characters up to U+0020 are trimmed, booleans are `true` and `false` in any case and nothing else,
numbers have Java's syntax and Java's ranges (no `1_000`), and a list is cut at commas with ASCII whitespace
around them, an empty text being the empty list. Values that are not text come from Python keyword settings and
are taken when they have the setting's own type.

Two things differ. Hexadecimal floating point (`0x1p3`), which Java would read, is refused. The name of a class
stays a name: what it stands for is looked up by the part that needs the class.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final

from moldau.base.errors import ConfigError


class ConfigType(IntEnum):
    """Numbered as in DescribeConfigs (KIP-569)."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Password:
    """A secret text: equal to its like, and never shown unless `reveal` is called."""

    __slots__ = ("_secret",)

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def reveal(self) -> str:
        return self._secret

    def __repr__(self) -> str:
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Password) and other._secret == self._secret

    def __hash__(self) -> int:
        return hash(self._secret)


ListItem = str | type[object]
Value = bool | int | float | str | tuple[ListItem, ...] | type[object] | Password | None

HIDDEN: Final = "[hidden]"

# What String.trim removes: every character up to and including the space, and no other white space.
_JAVA_BLANK: Final = "".join(map(chr, range(0x21)))
COMMA: Final = re.compile(r"[ \t\n\x0b\f\r]*,[ \t\n\x0b\f\r]*")
_INTEGER: Final = re.compile(r"[+-]?\d+")
_DOUBLE: Final = re.compile(r"([+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))[fFdD]?")
_INTEGERS: Final = {
    ConfigType.SHORT: (16, "a 16-bit integer (short)"),
    ConfigType.INT: (32, "a 32-bit integer"),
    ConfigType.LONG: (64, "a 64-bit integer (long)"),
}


def invalid(name: str, value: object, why: str) -> ConfigError:
    """The error for a wrong value, in Kafka's words; a `Password` hides itself."""
    return ConfigError(f"Invalid value {value} for configuration {name}: {why}")


def parse(name: str, config_type: ConfigType, raw: object) -> Value:
    """The typed value of what a file, a request or a keyword gave; None is null for every type."""
    if raw is None:
        return None
    text = raw.strip(_JAVA_BLANK) if isinstance(raw, str) else None
    match config_type:
        case ConfigType.BOOLEAN:
            return _parse_boolean(name, raw, text)
        case ConfigType.INT | ConfigType.SHORT | ConfigType.LONG:
            return _parse_integer(name, config_type, raw, text)
        case ConfigType.DOUBLE:
            return _parse_double(name, raw, text)
        case ConfigType.LIST:
            return _parse_list(name, raw, text)
        case ConfigType.CLASS:
            return _parse_class(name, raw, text)
        case ConfigType.PASSWORD:
            return _parse_password(name, raw, text)
    if text is None:
        raise invalid(name, raw, f"Expected value to be a string, but it was a {type(raw).__name__}")
    return text


def _parse_boolean(name: str, raw: object, text: str | None) -> bool:
    if isinstance(raw, bool):
        return raw
    lowered = text.lower() if text is not None else None
    if lowered not in ("true", "false"):
        raise invalid(name, raw, "Expected value to be either true or false")
    return lowered == "true"


def _parse_integer(name: str, config_type: ConfigType, raw: object, text: str | None) -> int:
    bits, expected = _INTEGERS[config_type]
    if text is None:
        if not isinstance(raw, int) or isinstance(raw, bool):
            raise invalid(name, raw, f"Expected value to be {expected}, but it was a {type(raw).__name__}")
        number = raw
    elif len(text) < 100 and _INTEGER.fullmatch(text):
        number = int(text)
    else:
        raise invalid(name, raw, f"Not a number of type {config_type.name}")
    if not -(1 << bits - 1) <= number < 1 << bits - 1:
        raise invalid(name, raw, f"Not a number of type {config_type.name}")
    return number


def _parse_double(name: str, raw: object, text: str | None) -> float:
    if text is not None:
        match = _DOUBLE.fullmatch(text)
        if match is None:
            raise invalid(name, raw, "Not a number of type DOUBLE")
        return float(match[1])
    if not isinstance(raw, int | float) or isinstance(raw, bool):
        raise invalid(name, raw, f"Expected value to be a double, but it was a {type(raw).__name__}")
    return float(raw)


def _parse_list(name: str, raw: object, text: str | None) -> tuple[ListItem, ...]:
    if text is not None:
        return tuple(COMMA.split(text)) if text else ()
    if isinstance(raw, list | tuple) and all(isinstance(item, str | type) for item in raw):
        return tuple(raw)
    raise invalid(name, raw, "Expected a comma separated list.")


def _parse_class(name: str, raw: object, text: str | None) -> type[object] | str:
    if isinstance(raw, type):
        return raw
    if not text:
        raise invalid(name, raw, "Expected a class or the dotted name of one.")
    return text


def _parse_password(name: str, raw: object, text: str | None) -> Password:
    if isinstance(raw, Password):
        return raw
    if text is None:
        raise invalid(name, HIDDEN, f"Expected value to be a string, but it was a {type(raw).__name__}")
    return Password(text)


def render(value: Value) -> str | None:
    """Kafka's text for a value, as DescribeConfigs carries it; null and passwords have none."""
    if value is None or isinstance(value, Password):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _java_double(value)
    if isinstance(value, tuple):
        return ",".join(render(item) or "" for item in value)
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    return str(value)


def _java_double(number: float) -> str:
    """As Double.toString: plain from 0.001 to 10 million, else one digit, a point and an exponent."""
    if number != number:
        return "NaN"
    if abs(number) == float("inf"):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number)
    shortest = next(text for digits in range(1, 18) if float(text := f"{number:.{digits}e}") == number)
    mantissa, _, exponent = shortest.partition("e")
    return f"{mantissa}E{int(exponent)}"
