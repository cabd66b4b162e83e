"""Every message in every version: round trips, truncations, hostile counts, and an independent encoder's bytes."""

from __future__ import annotations

import contextlib
import random
import uuid
from typing import Any

import kafka.protocol.api_message
import pytest
from kafka.protocol import admin, consumer, metadata, producer, sasl

from moldau.base.errors import MalformedMessage
from moldau.protocol.codec import decode, decode_from, encode
from moldau.protocol.schema import Array, Kind, Message, Struct
from tests.protocol.instances import api_messages, instance, stored_messages

ALL = [*api_messages(), *stored_messages()]
SAMPLES = 5
ORACLES: dict[str, Any] = {
    name: cls
    for module in (admin, consumer, metadata, producer, sasl)
    for name, cls in vars(module).items()
    if isinstance(cls, type) and issubclass(cls, kafka.protocol.api_message.ApiMessage)
}


def samples(cls: type[Message], version: int) -> list[Message]:
    rng = random.Random(f"{cls.__name__}{version}")
    return [instance(cls, version, rng) for _ in range(SAMPLES)]


@pytest.mark.slow
def test_round_trip_of_every_message_version() -> None:
    for cls, version in ALL:
        for message in samples(cls, version):
            data = encode(message, version)
            assert decode_from(cls, version, data) == (message, len(data)), (cls, version)
            assert decode(cls, version, memoryview(b"before" + data + b"after"), 6) == message, (cls, version)


@pytest.mark.slow
def test_every_truncation_is_a_clean_error() -> None:
    for cls, version in ALL:
        data = encode(samples(cls, version)[0], version)
        for length in range(len(data)):
            with pytest.raises(MalformedMessage):
                decode(cls, version, data[:length])


@pytest.mark.slow
def test_every_byte_replaced_decodes_or_is_a_clean_error() -> None:
    rng = random.Random(7)
    for cls, version in ALL:
        data = bytearray(encode(samples(cls, version)[1], version))
        for _ in range(60):
            if not data:
                break
            position = rng.randrange(len(data))
            kept = data[position]
            data[position] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
            with contextlib.suppress(MalformedMessage):
                decode(cls, version, bytes(data))
            data[position] = kept


@pytest.mark.slow
def test_bytes_of_an_independent_encoder(capsys: pytest.CaptureFixture[str]) -> None:
    checked = 0
    for cls, version in api_messages():
        oracle = ORACLES.get(cls.__name__)
        if oracle is None or version > oracle.max_version:
            continue
        for message in samples(cls, version):
            theirs = translate(message, oracle[version], version).encode(version=version)
            assert encode(message, version) == bytes(theirs), (cls.__name__, version, message)
        checked += 1
    with capsys.disabled():
        print(f"\n{checked} of {len(list(api_messages()))} message versions byte-identical with kafka-python's encoder")
    assert checked > 450


def translate(message: Struct, oracle: Any, version: int) -> Any:
    """The same message as an object of kafka-python."""
    names = {name.replace("_", ""): name for name in oracle.fields}
    values = {}
    for field in message.FIELDS:
        value = getattr(message, field.name)
        if version not in field.versions or (field.tag is not None and value == field.default):
            continue
        if field.name.endswith("authorized_operations") and "authorized_operations" in oracle.fields:  # a set of bits
            values["authorized_operations"] = {bit for bit in range(32) if value >> bit & 1}
            continue
        name = names[field.name.replace("_", "")]
        values[name] = _translate(field.kind, value, oracle.fields[name], version)
    return oracle(version=version, **values) if isinstance(message, Message) else oracle(**values)


def _translate(kind: Kind, value: Any, field: Any, version: int) -> Any:
    if value is None:
        return None
    if isinstance(kind, Array):
        return [_translate(kind.of, item, field, version) for item in value]
    if kind == "16s":
        return uuid.UUID(bytes=value)
    return value if isinstance(kind, str) else translate(value, field.data_class, version)
