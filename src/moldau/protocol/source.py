"""The text of one generated function, the names it refers to, and its compilation."""

from __future__ import annotations

import linecache
import struct
from collections.abc import Callable
from typing import Any

from moldau.protocol.schema import Array, Field, Kind, Message, Struct


class Source:
    """A function being written for one message class and version."""

    def __init__(self, cls: type[Message], version: int, purpose: str) -> None:
        assert version in cls.VERSIONS, f"{cls.__name__} has versions {cls.VERSIONS}, not {version}"
        self.cls = cls
        self.version = version
        self.flexible = version in cls.FLEXIBLE
        self.with_records = has_records(cls)
        self.title = f"<{purpose} {cls.__name__} v{version}>"
        self.names: dict[str, Any] = {}
        self._lines: list[str] = []
        self._counts: dict[str, int] = {}

    def add(self, depth: int, line: str) -> None:
        self._lines.append("    " * depth + line)

    def fresh(self, stem: str) -> str:
        """A name that nothing in this function has yet."""
        count = self._counts[stem] = self._counts.get(stem, 0) + 1
        return f"{stem}{count}"

    def bind(self, stem: str, value: Any) -> str:
        """A name for a value that the function uses; the same value keeps its name."""
        for name, bound in self.names.items():
            if bound is value:
                return name
        name = stem if stem not in self.names else self.fresh(stem)
        self.names[name] = value
        return name

    def packer(self, formats: str) -> str:
        return self._struct_method("pack", formats, struct.Struct(">" + formats).pack)

    def unpacker(self, formats: str) -> str:
        return self._struct_method("unpack", formats, struct.Struct(">" + formats).unpack_from)

    def _struct_method(self, stem: str, formats: str, method: Any) -> str:
        name = f"{stem}_{formats.replace('?', 'bool')}"
        self.names.setdefault(name, method)
        return name

    def split(self, cls: type[Struct]) -> tuple[list[Field], list[Field], list[Field]]:
        """The fields of a struct in this version: in place, as tags, and absent."""
        alive = [field for field in cls.FIELDS if self.version in field.versions]
        tagged = [field for field in alive if field.tag is not None and self.flexible]
        plain = [field for field in alive if field not in tagged]
        absent = [field for field in cls.FIELDS if self.version not in field.versions]
        return plain, sorted(tagged, key=lambda field: field.tag or 0), absent

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def compile(self) -> Callable[..., Any]:
        """The function; its text stays in linecache, so that tracebacks and debuggers show it."""
        text = self.text
        linecache.cache[self.title] = (len(text), None, text.splitlines(keepends=True), self.title)
        exec(compile(text, self.title, "exec"), self.names)  # noqa: S102 - our own text, from our own declarations
        function: Callable[..., Any] = self.names["run"]
        return function


def has_records(kind: Kind) -> bool:
    """Whether record batches travel somewhere in a kind."""
    if isinstance(kind, Array):
        return has_records(kind.of)
    if isinstance(kind, str):
        return kind == "records"
    return any(has_records(field.kind) for field in kind.FIELDS)
