"""Random instances of every message, and the list of all message versions there are."""

from __future__ import annotations

import random
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import moldau.protocol.stored
from moldau.protocol.api import ApiKey, request_class, response_class
from moldau.protocol.schema import Array, Field, Kind, Message, Struct

LIMITS = {"b": 7, "h": 15, "i": 31, "q": 63}
TEXTS = ("", "a", "topic-1", "größer", "河", "x" * 127, "y" * 300)


def api_messages() -> Iterator[tuple[type[Message], int]]:
    """Every request and response in every version."""
    for key in ApiKey:
        for cls in (request_class(key), response_class(key)):
            for version in range(cls.VERSIONS.low, cls.VERSIONS.high + 1):
                yield cls, version


def stored_messages() -> Iterator[tuple[type[Message], int]]:
    """Every stored key, value and blob in every version."""
    for module in iter_modules(moldau.protocol.stored.__path__):
        found = vars(import_module(f"moldau.protocol.stored.{module.name}")).values()
        for cls in found:
            if isinstance(cls, type) and issubclass(cls, Message) and cls is not Message:
                for version in range(cls.VERSIONS.low, cls.VERSIONS.high + 1):
                    yield cls, version


def instance(cls: type[Message], version: int, rng: random.Random) -> Message:
    """A random message with values in just the fields that the version has."""
    made = _struct(cls, version, version in cls.FLEXIBLE, rng)
    assert isinstance(made, cls)
    return made


def _struct(cls: type[Struct], version: int, flexible: bool, rng: random.Random) -> Struct:
    values = {}
    for field in cls.FIELDS:
        if version not in field.versions:
            continue
        if field.tag is not None and rng.random() < 0.5:
            continue
        values[field.name] = _field(field, version, flexible, rng)
        if isinstance(field.kind, type) and field.tag is not None and values[field.name] == field.kind():
            values[field.name] = None  # a tagged struct of defaults is not sent
    return cls(**values)


def _field(field: Field, version: int, flexible: bool, rng: random.Random) -> Any:
    if version in field.null and rng.random() < 0.25:
        return None
    return _value(field.kind, version, flexible, rng)


def _value(kind: Kind, version: int, flexible: bool, rng: random.Random) -> Any:
    if isinstance(kind, Array):
        count = rng.choice((0, 1, 1, 2, 3, 70)) if kind.of in LIMITS else rng.choice((0, 1, 1, 2))
        return [_value(kind.of, version, flexible, rng) for _ in range(count)]
    if not isinstance(kind, str):
        return _struct(kind, version, flexible, rng)
    if kind in LIMITS:
        low, high = -(1 << LIMITS[kind]), (1 << LIMITS[kind]) - 1
        return rng.choice((0, 1, -1, low, high, rng.randint(low, high)))
    match kind:
        case "H":
            return rng.choice((0, 65535, rng.randint(0, 65535)))
        case "?":
            return rng.random() < 0.5
        case "d":
            return rng.choice((0.0, -1.5, 1e300))
        case "16s":
            return rng.choice((bytes(16), rng.randbytes(16)))
        case "string":
            return rng.choice(TEXTS)
        case _:
            return rng.choice((b"", rng.randbytes(5), rng.randbytes(200)))
