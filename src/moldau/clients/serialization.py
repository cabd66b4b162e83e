"""Values to bytes and back, under the names of Kafka's own serializers.

A serializer is a callable of one value, or an object with `serialize(topic, data)`; a deserializer a callable of bytes,
or an object with `deserialize(topic, data)`. `configure(settings, is_key)` and `close()` are called where they exist.
Null is never serialized: it is a tombstone. What one raises becomes a `SerializationError`.

Formats with schemas (Avro, Protobuf) come in as such callables or objects; nothing about them is known here.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from moldau.clients.errors import SerializationError
from moldau.clients.settings import ClientSettings

Serialize = Callable[[str, Any], bytes | None]
Deserialize = Callable[[str, bytes | None], Any]

_INTEGER: Final = struct.Struct(">i")
_SHORT: Final = struct.Struct(">h")
_LONG: Final = struct.Struct(">q")
_FLOAT: Final = struct.Struct(">f")
_DOUBLE: Final = struct.Struct(">d")


class BytesSerializer:
    """Bytes as they are; a text becomes UTF-8, since that is what everybody means."""

    def serialize(self, _topic: str, data: bytes | bytearray | memoryview | str) -> bytes:
        if isinstance(data, bytes):
            return data
        if isinstance(data, str):
            return data.encode()
        if isinstance(data, bytearray | memoryview):
            return bytes(data)
        raise TypeError(f"expected bytes or a text, not {type(data).__name__}; set a serializer for other values")


class BytesDeserializer:
    def deserialize(self, _topic: str, data: bytes) -> bytes:
        return data


class StringSerializer:
    """Texts, in the encoding of `serializer.encoding` (or `key.` or `value.serializer.encoding`), else UTF-8."""

    encoding = "utf-8"

    def configure(self, settings: Mapping[str, object], is_key: bool) -> None:
        self.encoding = _encoding(settings, is_key, "serializer", self.encoding)

    def serialize(self, _topic: str, data: str) -> bytes:
        return data.encode(self.encoding)


class StringDeserializer:
    encoding = "utf-8"

    def configure(self, settings: Mapping[str, object], is_key: bool) -> None:
        self.encoding = _encoding(settings, is_key, "deserializer", self.encoding)

    def deserialize(self, _topic: str, data: bytes) -> str:
        return str(data, self.encoding)


def _encoding(settings: Mapping[str, object], is_key: bool, what: str, default: str) -> str:
    side = settings.get(f"{'key' if is_key else 'value'}.{what}.encoding")
    return str(side or settings.get(f"{what}.encoding") or default)


class _Fixed:
    """A number of fixed width, big-endian."""

    form: struct.Struct

    def serialize(self, _topic: str, data: float) -> bytes:
        return self.form.pack(data)

    def deserialize(self, _topic: str, data: bytes) -> Any:
        if len(data) != self.form.size:
            raise ValueError(f"{len(data)} bytes where {self.form.size} are expected")
        return self.form.unpack(data)[0]


class ShortSerializer(_Fixed):
    form = _SHORT


class ShortDeserializer(_Fixed):
    form = _SHORT


class IntegerSerializer(_Fixed):
    form = _INTEGER


class IntegerDeserializer(_Fixed):
    form = _INTEGER


class LongSerializer(_Fixed):
    form = _LONG


class LongDeserializer(_Fixed):
    form = _LONG


class FloatSerializer(_Fixed):
    form = _FLOAT


class FloatDeserializer(_Fixed):
    form = _FLOAT


class DoubleSerializer(_Fixed):
    form = _DOUBLE


class DoubleDeserializer(_Fixed):
    form = _DOUBLE


class UUIDSerializer:
    def serialize(self, _topic: str, data: UUID) -> bytes:
        return str(data).encode()


class UUIDDeserializer:
    def deserialize(self, _topic: str, data: bytes) -> UUID:
        return UUID(data.decode())


class JsonSerializer:
    """JSON without needless spaces, in UTF-8."""

    def serialize(self, _topic: str, data: object) -> bytes:
        return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()


class JsonDeserializer:
    def deserialize(self, _topic: str, data: bytes) -> Any:
        return json.loads(data)


class VoidSerializer:
    """For keys that are never there."""

    def serialize(self, _topic: str, data: object) -> bytes:
        raise ValueError(f"expected nothing, but there is a {type(data).__name__}")


class VoidDeserializer:
    def deserialize(self, _topic: str, data: bytes) -> None:
        raise ValueError(f"expected nothing, but there are {len(data)} bytes")


_JAVA: Final = "org.apache.kafka.common.serialization."
_OURS: Final = f"{__name__}."
_FORMATS: Final = {
    "ByteArray": "Bytes",
    "ByteBuffer": "Bytes",
    "Bytes": "Bytes",
    "String": "String",
    "Short": "Short",
    "Integer": "Integer",
    "Long": "Long",
    "Float": "Float",
    "Double": "Double",
    "UUID": "UUID",
    "Void": "Void",
}
_JSON: Final = "org.apache.kafka.connect.json."
SERIALIZERS: Final[Mapping[str, str]] = {
    **{f"{_JAVA}{java}Serializer": f"{_OURS}{ours}Serializer" for java, ours in _FORMATS.items()},
    f"{_JSON}JsonSerializer": f"{_OURS}JsonSerializer",
}
DESERIALIZERS: Final[Mapping[str, str]] = {
    **{f"{_JAVA}{java}Deserializer": f"{_OURS}{ours}Deserializer" for java, ours in _FORMATS.items()},
    f"{_JSON}JsonDeserializer": f"{_OURS}JsonDeserializer",
}


def serializer_of(settings: ClientSettings, name: str) -> Serialize | None:
    """The function behind `key.serializer` or `value.serializer`; None where bytes pass as they are."""
    side = name.partition(".")[0]
    plugin = settings.plugin(name, SERIALIZERS, is_key=side == "key")
    if isinstance(plugin, BytesSerializer):
        return None
    return _guarded(plugin, "serialize", side)


def deserializer_of(settings: ClientSettings, name: str) -> Deserialize | None:
    """The function behind `key.deserializer` or `value.deserializer`; None where bytes pass as they are."""
    side = name.partition(".")[0]
    plugin = settings.plugin(name, DESERIALIZERS, is_key=side == "key")
    if isinstance(plugin, BytesDeserializer):
        return None
    return _guarded(plugin, "deserialize", side)


def _guarded(plugin: Any, method: str, side: str) -> Callable[[str, Any], Any]:
    convert = getattr(plugin, method, None) or (lambda _topic, data: plugin(data))

    def guarded(topic: str, data: Any) -> Any:
        if data is None:
            return None
        try:
            return convert(topic, data)
        except Exception as error:
            raise SerializationError(f"cannot {method} the {side} of a record of topic {topic}: {error}") from error

    guarded.close = getattr(plugin, "close", None)  # type: ignore[attr-defined]  # for whoever closes the client
    return guarded
