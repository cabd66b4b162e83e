"""Values become the bytes that Kafka's own serializers make, and come back."""

from __future__ import annotations

from uuid import UUID

import pytest

from moldau.base.config.schema import Scope
from moldau.clients import serialization
from moldau.clients.errors import SerializationError
from moldau.clients.serialization import deserializer_of, serializer_of
from moldau.clients.settings import client_settings

BOOTSTRAP = {"bootstrap.servers": "localhost:9092"}
UUID_TEXT = "9a1c7c1e-0b0e-4a52-8a3b-0d8b1e3f5a10"
SAMPLES = {
    "String": ("Smetana ♪", "Smetana ♪".encode()),
    "Short": (-2, b"\xff\xfe"),
    "Integer": (258, b"\0\0\1\2"),
    "Long": (-1, b"\xff" * 8),
    "Float": (0.5, b"\x3f\0\0\0"),
    "Double": (1.0, b"\x3f\xf0" + bytes(6)),
    "UUID": (UUID(UUID_TEXT), UUID_TEXT.encode()),
    "Json": ({"ä": None}, '{"ä":null}'.encode()),
    "Bytes": (b"\0", b"\0"),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_bytes_are_those_of_kafka_and_come_back(name: str) -> None:
    value, encoded = SAMPLES[name]
    assert getattr(serialization, f"{name}Serializer")().serialize("t", value) == encoded
    assert getattr(serialization, f"{name}Deserializer")().deserialize("t", encoded) == value


def test_null_is_left_alone() -> None:
    settings = client_settings(Scope.PRODUCER, BOOTSTRAP, {"value_serializer": serialization.LongSerializer})
    serialize = serializer_of(settings, "value.serializer")
    assert serialize is not None
    assert serialize("t", None) is None


def test_what_a_serializer_raises_says_which_topic_and_side() -> None:
    settings = client_settings(Scope.PRODUCER, BOOTSTRAP, {"key_serializer": serialization.LongSerializer})
    serialize = serializer_of(settings, "key.serializer")
    assert serialize is not None
    with pytest.raises(SerializationError, match="cannot serialize the key of a record of topic orders") as raised:
        serialize("orders", "seven")
    assert raised.value.__cause__ is not None


def test_bytes_of_the_wrong_length_are_no_number() -> None:
    settings = client_settings(Scope.CONSUMER, BOOTSTRAP, {"value_deserializer": serialization.LongDeserializer})
    deserialize = deserializer_of(settings, "value.deserializer")
    assert deserialize is not None
    with pytest.raises(SerializationError, match="3 bytes where 8 are expected"):
        deserialize("orders", b"abc")


def test_the_encoding_is_configured_for_one_side_or_both() -> None:
    given = {**BOOTSTRAP, "key.serializer.encoding": "utf-16-le", "serializer.encoding": "latin-1"}
    both = {"key_serializer": serialization.StringSerializer, "value_serializer": serialization.StringSerializer}
    settings = client_settings(Scope.PRODUCER, given, both)
    key, value = serializer_of(settings, "key.serializer"), serializer_of(settings, "value.serializer")
    assert key is not None
    assert value is not None
    assert key("t", "é") == b"\xe9\0"
    assert value("t", "é") == b"\xe9"
