"""Properties files mean the same here as in Java, whatever is in them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from moldau.base.config.properties import load_properties, parse_properties
from moldau.base.errors import ConfigError

DUMP = Path(__file__).parent.parent / "unit" / "config" / "PropertiesDump.java"
FILES_PER_JVM = 400

# Pieces that mean something to the format, and some that mean nothing.
PIECES = [
    *"\\\\\\\\\n\n\r\t\f  ==::##!!uabtnrf09é\x00\x85\xa0\xff",
    "\r\n",
    "\\\n",
    "\\\r\n",
    "\\u0041",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\ud83d",
    "\\u00",
    "\\U0041",
    "key=value\n",
    "key",
    "# comment \\\n",
    "\n  ",
]
nasty_file = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


def java_reads(folder: Path) -> dict[str, dict[str, str] | None]:
    """What java.util.Properties makes of each file of a folder; None where it refuses."""
    command = ["java", "-Xshare:auto", str(DUMP), str(folder)]
    printed = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True).stdout
    answers: dict[str, dict[str, str] | None] = {}
    for line in printed.splitlines():
        name, *entries = line.split(" ")
        pairs = [] if entries == ["ERROR"] else [entry.split("=") for entry in entries]
        answers[name] = None if entries == ["ERROR"] else {from_hex(key): from_hex(value) for key, value in pairs}
    return answers


def from_hex(text: str) -> str:
    return bytes.fromhex(text).decode("utf-16-be", "surrogatepass")


def we_read(path: Path) -> dict[str, str] | None:
    try:
        return load_properties(path)
    except ConfigError:
        return None


@pytest.mark.slow
@pytest.mark.java
@settings(max_examples=3, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.lists(nasty_file, min_size=FILES_PER_JVM, max_size=FILES_PER_JVM))
def test_every_file_is_read_as_java_reads_it(texts: list[str]) -> None:
    if shutil.which("java") is None:
        pytest.fail("needs java on PATH") if os.environ.get("CI") else pytest.skip("needs java on PATH")
    with TemporaryDirectory() as name:
        folder = Path(name)
        for number, text in enumerate(texts):
            (folder / f"{number:04}").write_bytes(text.encode("iso-8859-1"))
        for file_name, expected in java_reads(folder).items():
            assert we_read(folder / file_name) == expected, ascii(texts[int(file_name)])


any_text = st.text(st.characters(codec="utf-8"), max_size=20)


@given(st.dictionaries(any_text, any_text, max_size=5))
def test_what_is_escaped_throughout_comes_back_unchanged(entries: dict[str, str]) -> None:
    def escaped(text: str) -> str:
        units = text.encode("utf-16-be")
        return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))

    text = "".join(f"{escaped(key)}={escaped(value)}\n" for key, value in entries.items())
    assert parse_properties(text, "test") == entries
