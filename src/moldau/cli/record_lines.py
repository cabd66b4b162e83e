"""Records as lines: text, perhaps behind a key, or JSON, which keeps everything: `consume --json` prints it.

    {"key": "k", "value": "v", "headers": [["name", "text"]], "partition": 0, "timestamp": 1700000000000}

Bytes that are no UTF-8 are {"base64": "…"}; any other value that is no text is taken as the JSON that it is.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from moldau.base.errors import ConfigError
from moldau.clients.consumer.consumer_record import ConsumerRecord

# A record is never larger than a request may be: socket.request.max.bytes.
LINE_BYTES_MAX = 100 * 1024 * 1024
_FIELDS = {"key", "value", "headers", "partition", "timestamp", "topic", "offset"}

Headers = list[tuple[str, bytes | None]]


class NewRecord(NamedTuple):
    """A record to write, and how many bytes of input it was."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers = []
    partition: int | None = None
    timestamp: int | None = None
    input_bytes: int = 0


def lines_of(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers, none of them longer than a record can be."""
    number = 0
    while line := source.readline(LINE_BYTES_MAX + 1):
        number += 1
        if len(line) > LINE_BYTES_MAX:
            raise ConfigError(f"line {number} is longer than {LINE_BYTES_MAX} bytes: no record may be as large")
        yield number, line


def text_records(source: BinaryIO, key_separator: bytes | None) -> Iterator[NewRecord]:
    """A record for each line; what comes before the separator is its key."""
    for number, line in lines_of(source):
        value = line.removesuffix(b"\n").removesuffix(b"\r")
        if key_separator is None:
            yield NewRecord(value, input_bytes=len(line))
            continue
        key, found, rest = value.partition(key_separator)
        if not found:
            raise ConfigError(f"line {number} has no {key_separator.decode()!r} behind a key")
        yield NewRecord(rest, key, input_bytes=len(line))


def json_records(source: BinaryIO) -> Iterator[NewRecord]:
    for number, line in lines_of(source):
        if not line.strip():
            continue
        try:
            yield _record(json.loads(line))._replace(input_bytes=len(line))
        except (ValueError, TypeError, KeyError, binascii.Error) as error:
            raise ConfigError(
                f"line {number} is no record: {error}. Write "
                '{"key": "k", "value": "v", "headers": [["name", "text"]]}; all but the value may be left out'
            ) from error


def _record(row: Any) -> NewRecord:
    if not isinstance(row, dict) or "value" not in row:
        raise ValueError("it has no value")
    if unknown := sorted(row.keys() - _FIELDS):
        raise ValueError(f"there is no field {unknown[0]!r}")
    headers = [(str(name), _bytes(value)) for name, value in row.get("headers") or ()]
    partition, timestamp = row.get("partition"), row.get("timestamp")
    for number in (partition, timestamp):
        if number is not None and not (isinstance(number, int) and number >= 0):
            raise ValueError(f"{number!r} is no partition or time")
    return NewRecord(_bytes(row["value"]), _bytes(row.get("key")), headers, partition, timestamp)


def _bytes(value: Any) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and value.keys() == {"base64"}:
        return base64.b64decode(value["base64"], validate=True)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def json_line(record: ConsumerRecord) -> str:
    row = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": None if record.timestamp < 0 else record.timestamp,
        "key": _readable(record.key),
        "value": _readable(record.value),
        "headers": [[name, _readable(value)] for name, value in record.headers],
    }
    return json.dumps(row, ensure_ascii=False)


def _readable(data: bytes | None) -> str | dict[str, str] | None:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
