"""Records of `__consumer_offsets` and `__transaction_state`, for people.

The formatters of Kafka 3.8 and newer print JSON with the stored fields; those under the older names print the lines
that books show. A record of another kind prints nothing, since the topic holds several.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping

from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.protocol.codec import decode
from moldau.protocol.schema import Message, Struct
from moldau.protocol.stored.group_metadata import (
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    OffsetCommitKey,
    OffsetCommitValue,
)
from moldau.protocol.stored.transaction_log import TransactionLogKey, TransactionLogValue

UNKNOWN = "unknown"
_OFFSET_KEYS = {0: LegacyOffsetCommitKey, 1: OffsetCommitKey}
_STATES = {0: "Empty", 1: "Ongoing", 2: "PrepareCommit", 3: "PrepareAbort", 4: "CompleteCommit", 5: "CompleteAbort"}
_STATES |= {6: "Dead", 7: "PrepareEpochFence"}


def version_of(data: bytes) -> int:
    return int.from_bytes(data[:2], "big", signed=True)


def stored(kind: type[Message], data: bytes) -> Message | None:
    """A value with its version before it; None if this version is not known."""
    version = version_of(data)
    return decode(kind, version, data, 2) if version in kind.VERSIONS else None


def plain(found: Struct, version: int) -> dict[str, object]:
    """Fields by Kafka's names, as its JSON has them: those of the version, tagged ones only where they differ."""
    fields: dict[str, object] = {}
    for field in type(found).FIELDS:
        value = getattr(found, field.name)
        if version in field.versions and (field.tag is None or value != field.default):
            first, *rest = field.name.split("_")
            fields[first + "".join(each.capitalize() for each in rest)] = _plain(value, version)
    return fields


def _plain(value: object, version: int) -> object:
    if isinstance(value, Struct):
        return plain(value, version)
    if isinstance(value, list | tuple):
        return [_plain(each, version) for each in value]
    return b64encode(value).decode() if isinstance(value, bytes) else value


class StoredFormatter:
    """JSON of keys and values; which ones, a subclass says."""

    keys: Mapping[int, type[Message]]
    hidden: tuple[int, ...] = ()
    value: type[Message]

    def __init__(self, _properties: Mapping[str, object]) -> None:
        pass

    def format(self, record: ConsumerRecord) -> bytes:
        key, value = self.parts(record)
        return b"" if key is None else f'{{"key":{key},"value":{value or "null"}}}\n'.encode()

    def parts(self, record: ConsumerRecord) -> tuple[str | None, str | None]:
        """Key and value as JSON; nothing if the record is of no interest, no value if it is a tombstone."""
        shown: object = None
        if record.key is not None:
            version = version_of(record.key)
            if version in self.hidden:
                return None, None
            kind = self.keys.get(version)
            data: object = UNKNOWN if kind is None else plain(decode(kind, 0, record.key, 2), version)
            shown = {"version": version, "data": data}
        if record.value is None:
            return _json(shown), None
        found = stored(self.value, record.value)
        version = version_of(record.value)
        return _json(shown), _json({"version": version, "data": UNKNOWN if found is None else plain(found, version)})


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


class OffsetsMessageFormatter(StoredFormatter):
    keys = _OFFSET_KEYS
    hidden = (2,)
    value = OffsetCommitValue


class GroupMetadataMessageFormatter(StoredFormatter):
    keys = {2: GroupMetadataKey}
    hidden = (0, 1)
    value = GroupMetadataValue


class TransactionLogMessageFormatter(StoredFormatter):
    keys = {0: TransactionLogKey}
    value = TransactionLogValue


class OffsetLines:
    """`[group,topic,0]::OffsetAndMetadata(…)`, as Kafka prints it since 2.1."""

    def __init__(self, _properties: Mapping[str, object]) -> None:
        pass

    def format(self, record: ConsumerRecord) -> bytes:
        kind = None if record.key is None else _OFFSET_KEYS.get(version_of(record.key))
        if kind is None:
            return b""
        key = decode(kind, 0, record.key, 2)
        value = None if record.value is None else stored(OffsetCommitValue, record.value)
        assert isinstance(key, OffsetCommitKey | LegacyOffsetCommitKey)
        assert isinstance(value, OffsetCommitValue | None)
        shown = "NULL" if value is None else self._shown(value)
        return f"[{key.group},{key.topic},{key.partition}]::{shown}\n".encode()

    def _shown(self, value: OffsetCommitValue) -> str:
        epoch = "Optional.empty" if value.leader_epoch < 0 else f"Optional[{value.leader_epoch}]"
        expires = "None" if value.expire_timestamp < 0 else f"Some({value.expire_timestamp})"
        times = f"commitTimestamp={value.commit_timestamp}, expireTimestamp={expires}"
        return f"OffsetAndMetadata(offset={value.offset}, leaderEpoch={epoch}, metadata={value.metadata}, {times})"


class OldOffsetLines(OffsetLines):
    """The same as Kafka printed it before 2.1. An expiry of its own a commit has only if its client asked for one."""

    def _shown(self, value: OffsetCommitValue) -> str:
        metadata = value.metadata or "NO_METADATA"
        times = f"CommitTime {value.commit_timestamp},ExpirationTime {value.expire_timestamp}"
        return f"[OffsetMetadata[{value.offset},{metadata}],{times}]"


class GroupLines:
    """`group::GroupMetadata(…)`."""

    def __init__(self, _properties: Mapping[str, object]) -> None:
        pass

    def format(self, record: ConsumerRecord) -> bytes:
        if record.key is None or version_of(record.key) != GroupMetadataKey.KEY:
            return b""
        key = decode(GroupMetadataKey, 0, record.key, 2)
        value = None if record.value is None else stored(GroupMetadataValue, record.value)
        assert isinstance(value, GroupMetadataValue | None)
        return f"{key.group}::{'NULL' if value is None else self._shown(key.group, value)}\n".encode()

    def _shown(self, group: str, value: GroupMetadataValue) -> str:
        state = "Stable" if value.members else "Empty"
        members = ", ".join(each.member_id for each in value.members)
        return (
            f"GroupMetadata(groupId={group}, generation={value.generation}, protocolType=Some({value.protocol_type}), "
            f"currentState={state}, members={{{members}}})"
        )


class TransactionLines:
    """`id::TransactionMetadata(…)`."""

    def __init__(self, _properties: Mapping[str, object]) -> None:
        pass

    def format(self, record: ConsumerRecord) -> bytes:
        if record.key is None or version_of(record.key) != 0:
            return b""
        name = decode(TransactionLogKey, 0, record.key, 2).transactional_id
        value = None if record.value is None else stored(TransactionLogValue, record.value)
        assert isinstance(value, TransactionLogValue | None)
        return f"{name}::{'NULL' if value is None else self._shown(name, value)}\n".encode()

    def _shown(self, name: str, value: TransactionLogValue) -> str:
        partitions = ", ".join(
            f"{each.topic}-{number}" for each in value.transaction_partitions or [] for number in each.partition_ids
        )
        return (
            f"TransactionMetadata(transactionalId={name}, producerId={value.producer_id}, "
            f"producerEpoch={value.producer_epoch}, txnTimeoutMs={value.transaction_timeout_ms}, "
            f"state={_STATES.get(value.transaction_status, UNKNOWN)}, topicPartitions=Set({partitions}), "
            f"txnStartTimestamp={value.transaction_start_timestamp_ms}, "
            f"txnLastUpdateTimestamp={value.transaction_last_update_timestamp_ms})"
        )
