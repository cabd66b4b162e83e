"""/brokers/topics/<topic>: its id, and the replicas of its partitions.

While a partition is being reassigned (KIP-455), `replicas` holds the old and the new ones, `adding` and `removing` say
which are which. Versions 1 and 2 have no id; 1 has no reassignments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from moldau.base.errors import ApiError
from moldau.base.ids import uuid_from_text, uuid_to_text
from moldau.cluster.znodes.content import JsonObject, encode_json
from moldau.cluster.znodes.layout import topic_path

VERSION = 3

Replicas = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicAssignment:
    topic_id: bytes | None
    """None for a topic of a broker that knew no ids; the controller gives it one."""
    partitions: Mapping[int, Replicas]
    adding_replicas: Mapping[int, Replicas] = field(default_factory=dict)
    removing_replicas: Mapping[int, Replicas] = field(default_factory=dict)

    def encode(self) -> bytes:
        content: dict[str, object] = {"version": VERSION}
        if self.topic_id is not None:
            content["topic_id"] = uuid_to_text(self.topic_id)
        content["partitions"] = _encode_replicas(self.partitions)
        content["adding_replicas"] = _encode_replicas(self.adding_replicas)
        content["removing_replicas"] = _encode_replicas(self.removing_replicas)
        return encode_json(content)

    @classmethod
    def decode(cls, topic: str, data: bytes | None) -> TopicAssignment:
        content = JsonObject.parse(topic_path(topic), data)
        content.expect_version(1, VERSION)
        return cls(
            topic_id=_topic_id(content),
            partitions=_decode_replicas(content, "partitions"),
            adding_replicas=_decode_replicas(content, "adding_replicas"),
            removing_replicas=_decode_replicas(content, "removing_replicas"),
        )


def _topic_id(content: JsonObject) -> bytes | None:
    text = content.text_or_none("topic_id")
    if text is None:
        return None
    try:
        return uuid_from_text(text)
    except ApiError as error:
        content.fail(f"topic_id: {error.message}")


def _encode_replicas(partitions: Mapping[int, Replicas]) -> dict[str, list[int]]:
    return {str(partition): list(partitions[partition]) for partition in sorted(partitions)}


def _decode_replicas(content: JsonObject, name: str) -> dict[int, Replicas]:
    partitions = content.nested(name)
    decoded = {}
    for text in partitions.names():
        if not (text.isascii() and text.isdigit() and len(text) <= 10):
            partitions.fail(f"{text[:80]!r} is not a partition")
        decoded[int(text)] = partitions.integers(text)
    return dict(sorted(decoded.items()))
