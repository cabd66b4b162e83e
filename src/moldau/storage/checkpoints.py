"""Checkpoint files: small texts that say how far something has come, replaced as a whole.

    0                      the version
    2                      the number of entries
    orders 0 4711          a topic, a partition and an offset, in any order (the four files of a log directory)
    orders 1 815

The checkpoint of a partition's leader epochs has an epoch and its start offset in each line, ascending.

A missing or empty file is a checkpoint that was never written, and has no entries. Anything else that is not exactly as
above raises `CorruptFile` with the number of the line; a last line without its line feed is one that was cut off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from moldau.storage.files import CorruptFile, Files

RECOVERY_POINT_CHECKPOINT = "recovery-point-offset-checkpoint"
REPLICATION_CHECKPOINT = "replication-offset-checkpoint"
LOG_START_CHECKPOINT = "log-start-offset-checkpoint"
CLEANER_CHECKPOINT = "cleaner-offset-checkpoint"
LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"

_VERSION = "0"
_NUMBER = re.compile("[0-9]{1,19}")
_INT32_MAX = (1 << 31) - 1
_INT64_MAX = (1 << 63) - 1


def read_offsets(files: Files, path: Path) -> dict[tuple[str, int], int]:
    """The offset of each topic and partition."""
    offsets: dict[tuple[str, int], int] = {}
    for number, fields in _lines(files, path, field_count=3):
        key = fields[0], _number(path, number, fields[1], _INT32_MAX)
        if key in offsets:
            raise _malformed(path, number, f"{key[0]} {key[1]} has an offset in an earlier line")
        offsets[key] = _number(path, number, fields[2], _INT64_MAX)
    return offsets


def write_offsets(files: Files, path: Path, offsets: Mapping[tuple[str, int], int], sync: bool = True) -> None:
    lines = [f"{topic} {partition} {offset}\n" for (topic, partition), offset in offsets.items()]
    _write(files, path, lines, sync)


def read_leader_epochs(files: Files, path: Path) -> list[tuple[int, int]]:
    """Each leader epoch and its start offset, ascending."""
    entries: list[tuple[int, int]] = []
    for number, fields in _lines(files, path, field_count=2):
        epoch, start_offset = _number(path, number, fields[0], _INT32_MAX), _number(path, number, fields[1], _INT64_MAX)
        if entries and (epoch <= entries[-1][0] or start_offset < entries[-1][1]):
            raise _malformed(path, number, f"{epoch} {start_offset} does not come after {entries[-1]}")
        entries.append((epoch, start_offset))
    return entries


def write_leader_epochs(files: Files, path: Path, entries: Iterable[tuple[int, int]], sync: bool = True) -> None:
    _write(files, path, [f"{epoch} {start_offset}\n" for epoch, start_offset in entries], sync)


def _write(files: Files, path: Path, lines: list[str], sync: bool) -> None:
    files.replace_bytes(path, f"{_VERSION}\n{len(lines)}\n{''.join(lines)}".encode("ascii"), sync)


def _lines(files: Files, path: Path, field_count: int) -> Iterator[tuple[int, list[str]]]:
    """The fields of every entry with the number of its line; the count is checked before the first."""
    try:
        data = files.read_bytes(path)
    except FileNotFoundError:
        return
    if not data:
        return
    lines = data.decode("ascii", "replace").split("\n")
    if lines.pop():
        raise _malformed(path, len(lines) + 1, "the file is cut off here")
    if lines[0] != _VERSION:
        raise _malformed(path, 1, f"the version is {lines[0]!r}, not {_VERSION}")
    if len(lines) < 2:
        raise _malformed(path, 2, "the number of entries is missing")
    count = _number(path, 2, lines[1], _INT32_MAX)
    if count != len(lines) - 2:
        raise _malformed(path, 2, f"it says that there are {count} entries, but there are {len(lines) - 2}")
    for number, line in enumerate(lines[2:], 3):
        fields = line.split(" ")
        if len(fields) != field_count or not fields[0]:
            raise _malformed(path, number, f"{line[:200]!r} has not {field_count} fields")
        yield number, fields


def _number(path: Path, line_number: int, text: str, largest: int) -> int:
    if _NUMBER.fullmatch(text) and (number := int(text)) <= largest:
        return number
    raise _malformed(path, line_number, f"{text[:40]!r} is no number from 0 to {largest}")


def _malformed(path: Path, line_number: int, problem: str) -> CorruptFile:
    return CorruptFile(path, f"line {line_number}: {problem}")
