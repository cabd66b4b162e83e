"""How `moldau consume` prints a record."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime

from moldau.base.errors import ConfigError
from moldau.cli.record_lines import json_line
from moldau.cli.terminal.tables import printable
from moldau.clients.consumer.consumer_record import ConsumerRecord

Format = Callable[[ConsumerRecord], bytes]

NULL = b"null"


def json_format(record: ConsumerRecord) -> bytes:
    return json_line(record).encode() + b"\n"


def text_format(template: str) -> Format:
    """`{offset} {value}` and so on, a line for each record; `\\t` and `\\n` are what they are in Python."""
    parts = [_part(each) for each in re.split(r"(\{[^{}]*\})", _unescaped(template)) if each]
    for_terminal = sys.stdout.isatty()

    def formatted(record: ConsumerRecord) -> bytes:
        line = b"".join([part(record) for part in parts])
        if for_terminal:  # a record may hold anything; a terminal would obey it
            line = printable(line.decode(errors="backslashreplace")).encode()
        return line + b"\n"

    return formatted


def _unescaped(template: str) -> str:
    escapes = {"t": "\t", "n": "\n", "\\": "\\"}
    return re.sub(r"\\([tn\\])", lambda found: escapes[found[1]], template)


def _part(text: str) -> Format:
    if text.startswith("{") and text.endswith("}"):
        name = text[1:-1]
        if name not in _FIELDS:
            raise ConfigError(
                f"there is no {text} in a format; there are {' '.join(f'{{{each}}}' for each in _FIELDS)}"
            )
        return _FIELDS[name]
    data = text.encode()
    return lambda _record: data


def _headers(record: ConsumerRecord) -> bytes:
    return b",".join(name.encode() + b"=" + (NULL if value is None else value) for name, value in record.headers)


def _time(record: ConsumerRecord) -> bytes:
    if record.timestamp < 0:
        return b"-"
    try:
        moment = datetime.fromtimestamp(record.timestamp / 1000, UTC)
    except (OverflowError, ValueError, OSError):  # a producer may have written any number
        return str(record.timestamp).encode()
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z").encode()


_FIELDS: dict[str, Format] = {
    "topic": lambda record: record.topic.encode(),
    "partition": lambda record: str(record.partition).encode(),
    "offset": lambda record: str(record.offset).encode(),
    "key": lambda record: NULL if record.key is None else record.key,
    "value": lambda record: NULL if record.value is None else record.value,
    "headers": _headers,
    "timestamp": lambda record: str(record.timestamp).encode(),
    "time": _time,
}
