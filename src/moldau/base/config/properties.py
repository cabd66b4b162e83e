r"""Java `.properties` files, read exactly as java.util.Properties.load reads a stream.

Kafka opens its files as streams, so the bytes are ISO-8859-1 and not UTF-8: other characters need `\uXXXX`.

A logical line is one or more natural lines, each but the last ending in an odd number of backslashes; what
continues it has its leading white space dropped. A logical line that begins with `#` or `!` is a comment, and
never goes on. The key ends at the first `=`, `:` or white space that has no backslash before it. In key and value
`\t`, `\n`, `\r`, `\f` and `\uXXXX` are escapes, and a backslash before anything else vanishes. Nothing is
trimmed at the end of a value. The last line of a key wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from moldau.base.errors import ConfigError

_FILE_BYTES_MAX: Final = 8 * 1024 * 1024
_BLANK: Final = " \t\f"
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_KEY: Final = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR: Final = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROL: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def load_properties(path: Path) -> dict[str, str]:
    """The entries of a file; what cannot be read is a ConfigError that names file and line."""
    try:
        with path.open("rb") as file:
            data = file.read(_FILE_BYTES_MAX + 1)
    except OSError as error:
        raise ConfigError(f"Cannot read {path}: {error.strerror}") from error
    if len(data) > _FILE_BYTES_MAX:
        raise ConfigError(f"{path} is larger than {_FILE_BYTES_MAX} bytes and cannot be a properties file")
    return parse_properties(data.decode("iso-8859-1"), str(path))


def parse_properties(text: str, source: str) -> dict[str, str]:
    """The entries of a text; `source` is what errors call it."""
    entries: dict[str, str] = {}
    for number, line in _logical_lines(text):
        key = _KEY.match(line)
        assert key is not None
        separator = _SEPARATOR.match(line, key.end())
        assert separator is not None
        try:
            entries[_unescape(key[0])] = _unescape(line[separator.end() :])
        except ValueError as error:
            raise ConfigError(f"{source}:{number}: {error}") from None
    return entries


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Each line with all that continues it, and the number of its first natural line."""
    natural_lines = _LINE_END.split(text)
    if not natural_lines[-1] and not text.endswith("\r\n"):
        natural_lines.pop()  # Java looks for the end of the file before it looks for a continuation
    pending, first, continued = "", 0, False
    for number, natural in enumerate(natural_lines, 1):
        line = natural.lstrip(_BLANK)
        if not pending:
            first = number
            if not line or line[0] in "#!":
                continued = False
                continue
        continued = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        if continued:
            pending += line[:-1]
        else:
            yield first, pending + line
            pending = ""
    if continued:
        yield first, pending


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_replacement, text)
    if any("\ud800" <= character <= "\udfff" for character in plain):
        # Two escapes can make up one character, as a pair of surrogates does in Java.
        plain = plain.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return plain


def _replacement(escape: re.Match[str]) -> str:
    letter = escape[1]
    if len(letter) == 5:
        return chr(int(letter[1:], 16))
    if letter == "u":
        raise ValueError(r"Malformed \uxxxx encoding.")
    return _CONTROL.get(letter, letter)
