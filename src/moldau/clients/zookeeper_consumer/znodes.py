"""What an old group keeps in ZooKeeper.

/consumers/<group>/ids/<consumer>                 ephemeral: how many threads it has for which topics
/consumers/<group>/owners/<topic>/<partition>     ephemeral: the thread that reads it
/consumers/<group>/offsets/<topic>/<partition>    the next offset to read, in digits
"""

from __future__ import annotations

from collections.abc import Mapping

from moldau.cluster.znodes.content import JsonObject, encode_json

_VERSION = 1


def ids_path(group: str) -> str:
    return f"/consumers/{group}/ids"


def consumer_path(group: str, consumer: str) -> str:
    return f"{ids_path(group)}/{consumer}"


def owner_path(group: str, topic: str, partition: int) -> str:
    return f"/consumers/{group}/owners/{topic}/{partition}"


def offset_path(group: str, topic: str, partition: int) -> str:
    return f"/consumers/{group}/offsets/{topic}/{partition}"


def encode_registration(threads: Mapping[str, int], now_ms: int) -> bytes:
    content = {"version": _VERSION, "subscription": dict(threads), "pattern": "static", "timestamp": str(now_ms)}
    return encode_json(content)


def decode_registration(path: str, data: bytes | None) -> dict[str, int]:
    """How many threads the consumer has for each topic."""
    content = JsonObject.parse(path, data)
    content.expect_version(_VERSION)
    subscription = content.nested("subscription")
    return {topic: subscription.integer(topic) for topic in subscription.names()}


def decode_offset(data: bytes | None) -> int | None:
    """None for what is no offset: then the reset policy decides, as if there were none."""
    text = (data or b"").decode(errors="replace").strip()
    return int(text) if text.isascii() and text.isdigit() else None
