"""The small files of a log directory that are not checkpoints: whose it is, how it was left, which topic a log is of.

`meta.properties`       the broker and the cluster that the directory belongs to; the same in all that a broker has
`.lock`                 held while a broker uses the directory
`.kafka_cleanshutdown`  there only while no broker uses a directory that was left in order: nothing needs recovery
`partition.metadata`    in a partition's directory: the topic id
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from time import gmtime
from typing import NamedTuple

from moldau.base.config.properties import parse_properties
from moldau.base.errors import ApiError, ConfigError
from moldau.base.ids import ZERO_UUID, uuid_from_text, uuid_to_text
from moldau.storage.files import CorruptFile, Files, Lock

META_PROPERTIES = "meta.properties"
LOCK = ".lock"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
PARTITION_METADATA = "partition.metadata"

NO_BROKER_EPOCH = -1  # what is known of it in clusters on ZooKeeper

_META_VERSION = "0"
_INT32_MAX = (1 << 31) - 1
_PARTITION_METADATA = re.compile(r"version: (\S+)\ntopic_id: (\S+)\n?")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class MetaProperties(NamedTuple):
    """Whose directory it is."""

    broker_id: int
    cluster_id: str | None  # None in directories from before there were cluster ids


def read_meta_properties(files: Files, directory: Path) -> MetaProperties | None:
    """What the file says, or None if there is none; `ConfigError` if it is not a broker's."""
    path = directory / META_PROPERTIES
    try:
        data = files.read_bytes(path)
    except FileNotFoundError:
        return None
    properties = parse_properties(data.decode("iso-8859-1"), str(path))
    version, broker_id = properties.get("version"), properties.get("broker.id", "")
    if version != _META_VERSION:
        raise ConfigError(f"{path}: version is {version}, but only {_META_VERSION} is known here")
    if not re.fullmatch("[0-9]{1,10}", broker_id) or int(broker_id) > _INT32_MAX:
        raise ConfigError(f"{path}: broker.id is {broker_id!r}, which is no broker's id")
    return MetaProperties(int(broker_id), properties.get("cluster.id"))


def write_meta_properties(files: Files, directory: Path, properties: MetaProperties, now_ms: int) -> None:
    lines = ["#", f"#{_java_date(now_ms)}", f"broker.id={properties.broker_id}", f"version={_META_VERSION}"]
    if properties.cluster_id is not None:
        lines.append(f"cluster.id={properties.cluster_id}")
    files.replace_bytes(directory / META_PROPERTIES, "".join(f"{line}\n" for line in lines).encode("iso-8859-1"))


def check_same_broker(stored: Mapping[Path, MetaProperties]) -> MetaProperties | None:
    """What the directories of a broker agree on, or None if none has a file; `ConfigError` if they do not agree."""
    owners = set(stored.values())
    if len(owners) > 1:
        listed = ", ".join(f"{path} of broker {owner.broker_id}, {owner.cluster_id}" for path, owner in stored.items())
        raise ConfigError(f"log.dirs belong to different brokers or clusters: {listed}")
    return owners.pop() if owners else None


def check_owner(stored: MetaProperties, broker_id: int | None, cluster_id: str | None) -> None:
    """`ConfigError` if directories are another broker's or another cluster's; None is what is not known yet."""
    if broker_id is not None and broker_id != stored.broker_id:
        raise ConfigError(
            f"broker.id is {broker_id}, but the directories in log.dirs are those of broker {stored.broker_id}: "
            f"set that id, or give a new broker directories of its own"
        )
    if None not in (cluster_id, stored.cluster_id) and cluster_id != stored.cluster_id:
        raise ConfigError(
            f"the cluster's id is {cluster_id}, but the directories in log.dirs are of cluster {stored.cluster_id}: "
            f"zookeeper.connect may name the wrong cluster"
        )


def lock_directory(files: Files, directory: Path) -> Lock:
    """Take a log directory for this broker alone; `ConfigError` if somebody has it."""
    lock = files.lock(directory / LOCK)
    if lock is None:
        raise ConfigError(f"{directory} is in use by another broker, which holds its {LOCK}")
    return lock


def mark_clean_shutdown(files: Files, directory: Path, broker_epoch: int = NO_BROKER_EPOCH) -> None:
    """Say that nothing in the directory needs recovery; the last thing that is written to it."""
    files.replace_bytes(directory / CLEAN_SHUTDOWN, b'{"version":0,"brokerEpoch":%d}' % broker_epoch)


def was_clean_shutdown(files: Files, directory: Path) -> bool:
    return files.exists(directory / CLEAN_SHUTDOWN)


def clear_clean_shutdown(files: Files, directory: Path) -> None:
    """Take the mark away for good, before anything in the directory changes: a crash must not bring it back."""
    files.remove(directory / CLEAN_SHUTDOWN)
    files.sync_directory(directory)


def read_topic_id(files: Files, partition_directory: Path) -> bytes | None:
    """The id of the topic that a partition's directory is of, or None if nobody has written it yet."""
    path = partition_directory / PARTITION_METADATA
    try:
        text = files.read_bytes(path).decode("ascii", "replace")
    except FileNotFoundError:
        return None
    match = _PARTITION_METADATA.fullmatch(text)
    if not match or match[1] != "0":
        raise CorruptFile(path, "it does not consist of 'version: 0' and a 'topic_id'")
    try:
        topic_id = uuid_from_text(match[2])
    except ApiError as error:
        raise CorruptFile(path, error.message) from error
    if topic_id == ZERO_UUID:
        raise CorruptFile(path, "the topic id is zero")
    return topic_id


def write_topic_id(files: Files, partition_directory: Path, topic_id: bytes) -> None:
    text = f"version: 0\ntopic_id: {uuid_to_text(topic_id)}"
    files.replace_bytes(partition_directory / PARTITION_METADATA, text.encode("ascii"))


def _java_date(time_ms: int) -> str:
    """As java.util.Date prints itself, in UTC."""
    time = gmtime(time_ms // 1000)
    clock = f"{time.tm_hour:02}:{time.tm_min:02}:{time.tm_sec:02}"
    return f"{_DAYS[time.tm_wday]} {_MONTHS[time.tm_mon - 1]} {time.tm_mday:02} {clock} UTC {time.tm_year}"
