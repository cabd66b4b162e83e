"""The immutable snapshot of one scope's values that the rest of the product reads.

Everything is resolved when the snapshot is made, so a lookup is a lookup in a dict. Code on a hot path takes what
it needs once, into attributes of its own. The typed readers assert the type that the table declares: asking for a
text as a number is a mistake of ours, not of whoever wrote the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from moldau.base.config.schema import Schema
from moldau.base.config.value_types import Password, Value


class Config(Mapping[str, Value]):
    """Typed values by name; a name that the table does not have is a KeyError."""

    __slots__ = ("_values", "explicit", "schema")

    def __init__(self, schema: Schema, values: Mapping[str, Value], explicit: Set[str]) -> None:
        self.schema = schema
        # The names that somebody gave a value, as opposed to those that have their default.
        self.explicit = explicit
        self._values = values

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={self._values.get(name)!r}" for name in sorted(self.explicit & self._values.keys()))
        return f"{type(self).__name__}({shown})"

    def boolean(self, name: str) -> bool:
        value = self._values[name]
        assert isinstance(value, bool), name
        return value

    def integer(self, name: str) -> int:
        """An int, short or long."""
        value = self._values[name]
        assert isinstance(value, int), name
        return value

    def integer_or_none(self, name: str) -> int | None:
        value = self._values[name]
        assert value is None or isinstance(value, int), name
        return value

    def number(self, name: str) -> float:
        """A double."""
        value = self._values[name]
        assert isinstance(value, float), name
        return value

    def text(self, name: str) -> str:
        value = self._values[name]
        assert isinstance(value, str), name
        return value

    def text_or_none(self, name: str) -> str | None:
        value = self._values[name]
        assert value is None or isinstance(value, str), name
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; null reads as the empty list."""
        value = self._values[name]
        assert value is None or isinstance(value, tuple), name
        items = value or ()
        assert all(isinstance(item, str) for item in items), name
        return tuple(str(item) for item in items)

    def password(self, name: str) -> Password | None:
        value = self._values[name]
        assert value is None or isinstance(value, Password), name
        return value
