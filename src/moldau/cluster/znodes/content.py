"""Reading and writing the JSON of znodes.

`JsonObject` takes what it is asked for, or says which field of which path is wrong and how. Kafka writes compact JSON
with non-ASCII characters as they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn, TypeVar

from moldau.cluster.errors import MalformedZnode

Json = Mapping[str, object]
Value = TypeVar("Value")

_SHOWN_CHARACTERS = 80


def encode_json(content: Json) -> bytes:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


class JsonObject:
    """An object of the JSON at `path`; `place` says where in it."""

    def __init__(self, path: str, fields: dict[str, object], place: str = "") -> None:
        self.path = path
        self._fields = fields
        self._place = place

    @classmethod
    def parse(cls, path: str, data: bytes | None) -> JsonObject:
        if not data:
            raise MalformedZnode(path, "empty, expected a JSON object")
        try:
            fields = json.loads(data.decode(), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise MalformedZnode(path, f"not JSON: {error}") from error
        if not isinstance(fields, dict):
            raise MalformedZnode(path, f"expected a JSON object, found {_shown(fields)}")
        return cls(path, fields)

    def fail(self, problem: str) -> NoReturn:
        raise MalformedZnode(self.path, f"{self._place}: {problem}" if self._place else problem)

    def expect_version(self, *supported: int) -> int:
        """Versions above the newest are read as the newest: Kafka's versions only add fields."""
        version = self.integer("version")
        if version < min(supported):
            self.fail(f"version {version}, expected {' or '.join(map(str, supported))}")
        return version

    def has(self, name: str) -> bool:
        """Whether the field is there with a value."""
        return self._fields.get(name) is not None

    def integer(self, name: str, default: int | None = None) -> int:
        return self._take(name, default, _is_integer, "an integer")

    def text(self, name: str, default: str | None = None) -> str:
        return self._take(name, default, lambda value: isinstance(value, str), "a string")

    def text_or_none(self, name: str) -> str | None:
        return self.text(name) if self.has(name) else None

    def integer_in_text(self, name: str) -> int:
        text = self.text(name)
        try:
            return int(text)
        except ValueError:
            self.fail(f"{name} is {_shown(text)}, expected an integer in a string")

    def integers(self, name: str) -> tuple[int, ...]:
        values = self._list(name)
        if not all(map(_is_integer, values)):
            self.fail(f"{name} is {_shown(values)}, expected integers")
        return tuple(values)  # type: ignore[arg-type]  # just checked

    def texts(self, name: str) -> tuple[str, ...]:
        values = self._list(name)
        if not all(isinstance(value, str) for value in values):
            self.fail(f"{name} is {_shown(values)}, expected strings")
        return tuple(values)  # type: ignore[arg-type]  # just checked

    def nested(self, name: str) -> JsonObject:
        """The object in the field; empty if there is none."""
        fields: dict[str, object] = self._take(name, {}, lambda value: isinstance(value, dict), "an object")
        return JsonObject(self.path, fields, f"{self._place}.{name}".lstrip("."))

    def objects(self, name: str) -> list[JsonObject]:
        values = self._list(name)
        items = [value for value in values if isinstance(value, dict)]
        if len(items) != len(values):
            self.fail(f"{name} is {_shown(values)}, expected objects")
        return [JsonObject(self.path, item, f"{self._place}.{name}[{n}]".lstrip(".")) for n, item in enumerate(items)]

    def names(self) -> list[str]:
        return list(self._fields)

    def _list(self, name: str) -> Sequence[object]:
        found: list[object] = self._take(name, None, lambda value: isinstance(value, list), "a list")
        return found

    def _take(self, name: str, default: Value | None, fits: Callable[[object], bool], expected: str) -> Value:
        value = self._fields.get(name)
        if value is None and default is not None:
            return default
        if not fits(value):
            found = _shown(value) if name in self._fields else "missing"
            self.fail(f"{name} is {found}, expected {expected}")
        return value  # type: ignore[return-value]  # just checked


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
