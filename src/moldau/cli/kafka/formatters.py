"""How the console consumer prints records: plainly, with their parts, or what Kafka's own topics hold.

A formatter has Kafka's class name, of now or of older days, or is a Python class with `format(record) -> bytes`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol, runtime_checkable

from moldau.base.config.class_names import load_class
from moldau.cli.kafka.failures import ToolFailed
from moldau.cli.kafka.properties import is_true
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.clients.serialization import DESERIALIZERS
from moldau.records.record import TimestampType

_TIMESTAMPS: Final = {TimestampType.CREATE_TIME: "CreateTime", TimestampType.LOG_APPEND_TIME: "LogAppendTime"}


@runtime_checkable
class Formatter(Protocol):
    def format(self, record: ConsumerRecord) -> bytes:
        """What is printed of a record; nothing if it is of no interest."""
        ...


class DefaultMessageFormatter:
    """The value, and as much else as is asked for."""

    def __init__(self, properties: Mapping[str, object]) -> None:
        given = dict(properties)
        self._shown = [
            part
            for name, part, default in (
                ("timestamp", self._timestamp, False),
                ("partition", self._partition, False),
                ("offset", self._offset, False),
                ("headers", self._headers, False),
                ("key", self._key, False),
                ("value", self._value, True),
            )
            if is_true(given, f"print.{name}", default)
        ]
        self._separator = _text(given, "key.separator", "\t")
        self._end = _text(given, "line.separator", "\n")
        self._between_headers = _text(given, "headers.separator", ",")
        self._null = _text(given, "null.literal", "null")
        self._of_key = _deserializer(given, "key.deserializer", is_key=True)
        self._of_value = _deserializer(given, "value.deserializer")
        self._of_headers = _deserializer(given, "headers.deserializer")

    def format(self, record: ConsumerRecord) -> bytes:
        return self._separator.join(part(record) for part in self._shown) + (self._end if self._shown else b"")

    def _timestamp(self, record: ConsumerRecord) -> bytes:
        kind = _TIMESTAMPS.get(record.timestamp_type)
        return b"NO_TIMESTAMP" if kind is None else f"{kind}:{record.timestamp}".encode()

    def _partition(self, record: ConsumerRecord) -> bytes:
        return b"Partition:%d" % record.partition

    def _offset(self, record: ConsumerRecord) -> bytes:
        return b"Offset:%d" % record.offset

    def _headers(self, record: ConsumerRecord) -> bytes:
        if not record.headers:
            return b"NO_HEADERS"
        shown = (
            name.encode() + b":" + self._shown_as(record, self._of_headers, value) for name, value in record.headers
        )
        return self._between_headers.join(shown)

    def _key(self, record: ConsumerRecord) -> bytes:
        return self._shown_as(record, self._of_key, record.key)

    def _value(self, record: ConsumerRecord) -> bytes:
        return self._shown_as(record, self._of_value, record.value)

    def _shown_as(self, record: ConsumerRecord, convert: Callable[..., object] | None, data: bytes | None) -> bytes:
        if data is None:
            return self._null
        return data if convert is None else str(convert(record.topic, data)).encode()


class LoggingMessageFormatter(DefaultMessageFormatter):
    """A line with everything, before what the default prints."""

    def format(self, record: ConsumerRecord) -> bytes:
        kind = _TIMESTAMPS.get(record.timestamp_type)
        time = "" if kind is None else f"{kind}:{record.timestamp}, "
        key = "null" if record.key is None else record.key.decode(errors="replace")
        value = "null" if record.value is None else record.value.decode(errors="replace")
        return f"{time}key:{key}, value:{value}\n".encode() + super().format(record)


class NoOpMessageFormatter:
    """Nothing at all: for reading without printing."""

    def __init__(self, _properties: Mapping[str, object]) -> None:
        pass

    def format(self, _record: ConsumerRecord) -> bytes:
        return b""


_HERE: Final = "moldau.cli.kafka.formatters."
_STORED: Final = "moldau.cli.kafka.stored_formatters."
_NEW: Final = "org.apache.kafka.tools.consumer."
FORMATTERS: Final[Mapping[str, str]] = {
    **{
        f"{package}{name}": f"{_HERE}{name}"
        for package in (_NEW, "kafka.tools.")
        for name in ("DefaultMessageFormatter", "LoggingMessageFormatter", "NoOpMessageFormatter")
    },
    **{
        f"{_NEW}{name}": f"{_STORED}{name}"
        for name in ("OffsetsMessageFormatter", "GroupMetadataMessageFormatter", "TransactionLogMessageFormatter")
    },
    "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter": f"{_STORED}OffsetLines",
    "kafka.coordinator.GroupMetadataManager$OffsetsMessageFormatter": f"{_STORED}OldOffsetLines",
    "kafka.coordinator.group.GroupMetadataManager$GroupMetadataMessageFormatter": f"{_STORED}GroupLines",
    "kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter": f"{_STORED}TransactionLines",
}


def formatter_of(name: str | None, properties: Mapping[str, object]) -> Formatter:
    """The formatter of a class name; the default one if there is none."""
    if name is None:
        return DefaultMessageFormatter(properties)
    made = load_class("formatter", name.replace("\\$", "$"), FORMATTERS)
    formatter = made(properties) if made.__module__.startswith("moldau.") else made()  # type: ignore[call-arg]
    if not isinstance(formatter, Formatter):
        raise ToolFailed(f"{name} is no formatter: it has to have format(record) -> bytes")
    return formatter


def _text(properties: Mapping[str, object], name: str, default: str) -> bytes:
    return str(properties.get(name, default)).encode()


def _deserializer(
    properties: Mapping[str, object], name: str, *, is_key: bool = False
) -> Callable[[str, bytes], object] | None:
    given = properties.get(name)
    if given is None:
        return None
    made = load_class(name, str(given), DESERIALIZERS)()
    configure = getattr(made, "configure", None)
    if configure is not None:
        prefix = f"{name}."
        own = {each.removeprefix(prefix): value for each, value in properties.items() if each.startswith(prefix)}
        configure(own, is_key)
    deserialize: Callable[[str, bytes], object] = getattr(made, "deserialize")  # noqa: B009  # any class has it or fails
    return deserialize
