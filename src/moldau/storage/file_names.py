"""The names of partition directories and of the files in them.

    orders-3                       a partition's log
    orders-3.<32 hex>-delete       deleted, to be removed after file.delete.delay.ms; long topics are cut to fit
    orders-3.<32 hex>-future       a copy that is to replace the log, from another log directory
    orders-3.<32 hex>-stray        put aside by a KRaft broker

    00000000000000004711.log       by the first offset that may be in it: .log .index .timeindex .txnindex
    00000000000000004711.snapshot  by the offset that follows the last one in it
    ….deleted  ….cleaned  ….swap   to be removed; being written by the cleaner; written and to replace the original

Every name that is made here is read back as what it was made from, and a directory with any other name is refused:
a log that was found under one name and then written under another would be two logs.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from moldau.base.errors import ConfigError

LOG_SUFFIX = ".log"
OFFSET_INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"
SNAPSHOT_SUFFIX = ".snapshot"

DELETED_SUFFIX = ".deleted"
CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"

_NAME_LENGTH_MAX = 255
_INT32_MAX = (1 << 31) - 1
_INT64_MAX = (1 << 63) - 1

_DIRECTORY = re.compile(
    r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>0|[1-9][0-9]{0,9})(\.[0-9a-f]{32}-(?P<state>delete|future|stray))?"
)
_FILE = re.compile(
    r"(?P<offset>[0-9]{20})(?P<kind>\.(?:log|index|timeindex|txnindex|snapshot))(?P<state>\.(?:deleted|cleaned|swap))?"
)


class DirectoryState(StrEnum):
    """What is to become of a partition's directory; the value ends its name."""

    CURRENT = ""
    DELETE = "delete"
    FUTURE = "future"
    STRAY = "stray"


class PartitionDirectory(NamedTuple):
    topic: str
    partition: int
    state: DirectoryState = DirectoryState.CURRENT


class SegmentFile(NamedTuple):
    """A file that belongs to an offset; kind and state are suffixes, the state mostly being none."""

    offset: int
    kind: str
    state: str = ""


def partition_directory(
    topic: str, partition: int, state: DirectoryState = DirectoryState.CURRENT, unique: str = ""
) -> str:
    """The name of a partition's directory; `unique` is 32 hex digits for the states that need them."""
    if state is DirectoryState.CURRENT:
        return f"{topic}-{partition}"
    assert re.fullmatch("[0-9a-f]{32}", unique), unique
    suffix = f"-{partition}.{unique}-{state}"
    if state is DirectoryState.DELETE:  # never looked up by its topic again, so the name may be cut, as Kafka does
        topic = topic[: _NAME_LENGTH_MAX - len(suffix)]
    return topic + suffix


def parse_partition_directory(name: str) -> PartitionDirectory:
    """What a directory in a log directory is; `ConfigError` if it is none of ours."""
    match = _DIRECTORY.fullmatch(name)
    if match and (partition := int(match["partition"])) <= _INT32_MAX:
        return PartitionDirectory(match["topic"], partition, DirectoryState(match["state"] or ""))
    raise ConfigError(
        f"{name!r} in a log directory is no partition's directory: its name must be a topic, '-' and a partition. "
        f"Log directories hold nothing else; move it away if it does not belong there"
    )


def segment_file(offset: int, kind: str, state: str = "") -> str:
    return f"{offset:020d}{kind}{state}"


def log_name(base_offset: int) -> str:
    return f"{base_offset:020d}.log"


def parse_segment_file(name: str) -> SegmentFile | None:
    """What a file in a partition's directory is, or None if it belongs to no offset."""
    match = _FILE.fullmatch(name)
    if match is None or (offset := int(match["offset"])) > _INT64_MAX:
        return None
    return SegmentFile(offset, match["kind"], match["state"] or "")
