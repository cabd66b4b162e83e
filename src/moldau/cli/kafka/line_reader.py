"""How the console producer reads: a record a line, with headers and a key before the value if that is asked for.

h1:v1,h2:v2<TAB>key<TAB>value
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import BinaryIO, NamedTuple

from moldau.cli.kafka.failures import ToolFailed
from moldau.cli.kafka.properties import is_true


class Line(NamedTuple):
    """What becomes a record."""

    value: bytes | None
    key: bytes | None = None
    headers: list[tuple[str, bytes | None]] = []


class LineReader:
    """Reads lines by the properties of `--property`."""

    def __init__(self, properties: Mapping[str, object] | None = None, *, prompt: bool = False) -> None:
        given = dict(properties or {})
        self._prompt = prompt
        self._parse_key = is_true(given, "parse.key")
        self._parse_headers = is_true(given, "parse.headers")
        self._ignore_error = is_true(given, "ignore.error")
        self._key_separator = str(given.get("key.separator", "\t"))
        self._headers_delimiter = str(given.get("headers.delimiter", "\t"))
        self._headers_separator = str(given.get("headers.separator", ","))
        self._headers_key_separator = str(given.get("headers.key.separator", ":"))
        marker = given.get("null.marker")
        self._null_marker = None if marker is None else str(marker)
        self._number = 0
        self._check()

    def _check(self) -> None:
        """Refuse separators that cannot be told apart."""
        names = {
            "headers.delimiter": self._headers_delimiter,
            "headers.separator": self._headers_separator,
            "headers.key.separator": self._headers_key_separator,
        }
        marked = {"key.separator": self._key_separator, **names}
        chosen = list(names)
        for number, first in enumerate(chosen):
            for second in chosen[number + 1 :]:
                if names[first] == names[second]:
                    raise ToolFailed(f"{first} and {second} may not be equal")
        for name, separator in marked.items():
            if separator == self._null_marker:
                raise ToolFailed(f"null.marker and {name} may not be equal")

    def lines(self, source: BinaryIO) -> Iterator[Line]:
        """All lines of a source, to its end."""
        while True:
            self._number += 1
            if self._prompt:
                print(">", end="", flush=True)
            data = source.readline()
            if not data:
                return
            yield self.parse(data.removesuffix(b"\n").removesuffix(b"\r").decode(errors="surrogateescape"))

    def parse(self, line: str) -> Line:
        headers, rest = self._split(self._parse_headers, line, line, self._headers_delimiter, "headers delimiter")
        key, value = self._split(self._parse_key, rest, line, self._key_separator, "key separator")
        return Line(self._bytes(value), self._bytes(key), self._headers(headers))

    def _split(self, wanted: bool, text: str, line: str, separator: str, name: str) -> tuple[str | None, str]:
        if not wanted:
            return None, text
        before, found, behind = text.partition(separator)
        if found:
            return before, behind
        if self._ignore_error:
            return None, text
        raise ToolFailed(f"No {name} found on line number {self._number}: '{line}'")

    def _headers(self, text: str | None) -> list[tuple[str, bytes | None]]:
        if text is None or text == self._null_marker:
            return []
        headers: list[tuple[str, bytes | None]] = []
        for pair in re.split(self._headers_separator, text):
            name, found, value = pair.partition(self._headers_key_separator)
            if not found and not self._ignore_error:
                raise ToolFailed(f"No header key separator found in pair '{pair}' on line number {self._number}")
            if name == self._null_marker:
                raise ToolFailed(
                    f"Header keys should not be equal to the null marker '{self._null_marker}' as they can't be null"
                )
            headers.append((name, self._bytes(value) if found else None))
        return headers

    def _bytes(self, text: str | None) -> bytes | None:
        if text is None or text == self._null_marker:
            return None
        return text.encode(errors="surrogateescape")
