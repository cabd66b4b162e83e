"""What a user gave with `.option(name, value)`.

Names are those of Spark's own Kafka connector, in any case. What begins with `kafka.` is a setting of the client, by
Kafka's name. Whatever is wrong is an `OptionError` whose text has the option, its value, and what would be right.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from moldau.base.errors import ConfigError

PREFIX: Final = "kafka."
SERVERS: Final = "kafka.bootstrap.servers"

_UNITS_MS: Final = {
    "us": 0.001,
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}
_TIME: Final = re.compile(r"(\d{1,15})\s*([a-z]*)")
_BOOLEANS: Final = {"true": True, "false": False}
# What a log or a web page must not show of the client's settings.
_SECRET: Final = re.compile(r"password|secret|jaas|token|keystore\.key|credential", re.IGNORECASE)


class OptionError(ConfigError):
    """An option that is missing, unknown here or has a value that it cannot have."""


class Options:
    """Options by name, whatever its case. `get` and the rest take names as the documents spell them."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._values = {name.lower(): value for name, value in given.items()}

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._values

    def get(self, name: str) -> str | None:
        """The value, without blanks around it; None if it is not given."""
        value = self._values.get(name.lower())
        return None if value is None else str(value).strip()

    def text(self, name: str, default: str) -> str:
        value = self.get(name)
        return default if value is None else value

    def required(self, name: str, why: str) -> str:
        value = self.get(name)
        if not value:
            raise OptionError(f"Option '{name}' must be specified: {why}")
        return value

    def boolean(self, name: str, default: bool) -> bool:
        value = self.get(name)
        if value is None:
            return default
        if value.lower() not in _BOOLEANS:
            raise wrong(name, value, "it has to be true or false")
        return _BOOLEANS[value.lower()]

    def positive(self, name: str) -> int | None:
        """A whole number above zero; None if it is not given."""
        value = self.get(name)
        if value is None:
            return None
        number = whole_number(value)
        if number is None or number <= 0:
            raise wrong(name, value, f"{name} must be positive, a whole number")
        return number

    def natural(self, name: str, default: int) -> int:
        """A whole number from zero on."""
        value = self.get(name)
        if value is None:
            return default
        number = whole_number(value)
        if number is None or number < 0:
            raise wrong(name, value, "it has to be a whole number from 0 on")
        return number

    def choice(self, name: str, choices: tuple[str, ...], default: str) -> str:
        value = self.text(name, default)
        if value.lower() not in choices:
            raise wrong(name, value, f"it has to be one of {', '.join(choices)}")
        return value.lower()

    def duration_ms(self, name: str, default: str) -> int:
        """A time as Spark writes it: `500ms`, `10s`, `15m`, `2h`; milliseconds if there is no unit."""
        value = self.text(name, default)
        found = _TIME.fullmatch(value.lower())
        if found is None or (found[2] or "ms") not in _UNITS_MS:
            raise wrong(name, value, f"it has to be a time such as 500ms, 10s or 15m (units: {', '.join(_UNITS_MS)})")
        return int(int(found[1]) * _UNITS_MS[found[2] or "ms"])

    def kafka_settings(self) -> dict[str, str]:
        """The client's settings, without their prefix."""
        return {
            name.removeprefix(PREFIX): str(value)
            for name, value in self._values.items()
            if name.startswith(PREFIX) and len(name) > len(PREFIX)
        }

    def refuse(self, refused: Mapping[str, str]) -> None:
        """Refuse options by name, each with its reason."""
        for name, reason in refused.items():
            if name in self:
                raise OptionError(f"{reason} (option '{name}' is '{shown(name, self.text(name, ''))}')")


def wrong(name: str, value: str, why: str) -> OptionError:
    return OptionError(f"Option '{name}' is '{shown(name, value)}': {why}")


def shown(name: str, value: str, length_max: int = 500) -> str:
    """A value as a text may show it: secrets not at all, and long ones in part."""
    if _SECRET.search(name):
        return "[hidden]"
    return value if len(value) <= length_max else f"{value[:length_max]}…"


def whole_number(text: str) -> int | None:
    """A number of 64 bits, or None; Python's own `int` would take `1_000` and other alphabets."""
    found = re.fullmatch(r"[+-]?[0-9]{1,19}", text)
    number = int(text) if found else None
    return number if number is not None and -(1 << 63) <= number < 1 << 63 else None
