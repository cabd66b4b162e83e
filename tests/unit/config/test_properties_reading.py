r"""Java properties files: examples with the answers of java.util.Properties (JDK 17)."""

from __future__ import annotations

from pathlib import Path

import pytest

from moldau.base.config.properties import load_properties, parse_properties
from moldau.base.errors import ConfigError

EXAMPLES: list[tuple[str, dict[str, str]]] = [
    ("a=b", {"a": "b"}),
    ("a:b", {"a": "b"}),
    ("a b", {"a": "b"}),
    ("a = b", {"a": "b"}),
    ("a  :  b", {"a": "b"}),
    ("a", {"a": ""}),
    ("a=", {"a": ""}),
    ("=b", {"": "b"}),
    ("  a=b  ", {"a": "b  "}),
    ("a\\=b=c", {"a=b": "c"}),
    ("a\\:b:c", {"a:b": "c"}),
    ("a\\ b c", {"a b": "c"}),
    ("a==b", {"a": "=b"}),
    ("a=:b", {"a": ":b"}),
    ("a : = b", {"a": "= b"}),
    ("# c\na=1", {"a": "1"}),
    ("! c\na=1", {"a": "1"}),
    ("  # c\na=1", {"a": "1"}),
    ("a=1 # not a comment", {"a": "1 # not a comment"}),
    ("# c \\\na=1", {"a": "1"}),
    ("a=1\na=2", {"a": "2"}),
    ("a=b\\\n   c", {"a": "bc"}),
    ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
    ("a=b\\\\\\\n c", {"a": "b\\c"}),
    ("a\\\n=b", {"a": "b"}),
    ("a=b\\\n\nc=d", {"a": "b", "c": "d"}),
    ("a=\\\n# x", {"a": "# x"}),
    ("\\\n# x\na=1", {"a": "1"}),
    ("a=x\\ty\\nz\\rq\\fw", {"a": "x\ty\nz\rq\x0cw"}),
    ("a=\\q\\\"\\'", {"a": "q\"'"}),
    ("a=\\u0041\\u00e9", {"a": "A\xe9"}),
    ("a=\\ud83d\\ude00", {"a": "\U0001f600"}),
    ("a=\\U0041", {"a": "U0041"}),
    ("a=caf\xe9", {"a": "caf\xe9"}),
    ("a=\xc3\xa9", {"a": "\xc3\xa9"}),
    ("a\tb", {"a": "b"}),
    ("a\x0cb", {"a": "b"}),
    ("a\r\nb\rc\nd", {"a": "", "b": "", "c": "", "d": ""}),
    ("a=b\\", {"a": "b"}),
    ("a=b\\\n", {"a": "b"}),
    ("\\", {"": ""}),
    ("\\\n", {"": ""}),
    ("", {}),
    ("\n\n", {}),
    ("a=\x0bb", {"a": "\x0bb"}),
    ("\xa0a=b", {"\xa0a": "b"}),
    ("a\\\\=b", {"a\\": "b"}),
    ("log.dirs=C:\\\\data,/x", {"log.dirs": "C:\\data,/x"}),
]


@pytest.mark.parametrize(("text", "entries"), EXAMPLES)
def test_a_text_is_read_as_java_reads_it(text: str, entries: dict[str, str]) -> None:
    assert parse_properties(text, "test") == entries


def test_a_malformed_escape_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_bytes(b"# first\nlog.dirs=/a,\\\n  /b\nbroker.rack=\\u12\n")
    with pytest.raises(ConfigError) as caught:
        load_properties(path)
    assert str(caught.value) == rf"{path}:4: Malformed \uxxxx encoding."
    for text in (r"\uZZZZ=1", r"a=\u123"):
        with pytest.raises(ConfigError):
            parse_properties(text, "test")


def test_bytes_are_latin_1(tmp_path: Path) -> None:
    path = tmp_path / "some.properties"
    path.write_bytes("client.id=café".encode())
    assert load_properties(path) == {"client.id": "caf\xc3\xa9"}
    path.write_bytes(b"client.id=caf\xe9")
    assert load_properties(path) == {"client.id": "café"}


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.properties", tmp_path):
        with pytest.raises(ConfigError, match=f"^Cannot read {path}: "):
            load_properties(path)


def test_an_enormous_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "enormous.properties"
    with path.open("wb") as file:
        file.truncate(9 * 1024 * 1024)
    with pytest.raises(ConfigError, match="cannot be a properties file"):
        load_properties(path)
