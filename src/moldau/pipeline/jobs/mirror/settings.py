"""What a mirror is told, in Kafka's terms, and the options of a source and a sink that follow from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from moldau.pipeline.jobs.definition import PipelineError

RESETS: Final = ("earliest", "latest")
DEFAULT_GROUP: Final = "moldau-mirror"
# What a consumer or a producer is configured with and a query decides by itself.
_NOT_FOR_SOURCE: Final = frozenset(
    {
        "auto.offset.reset",
        "enable.auto.commit",
        "auto.commit.interval.ms",
        "group.id",
        "group.instance.id",
        "interceptor.classes",
        "key.deserializer",
        "value.deserializer",
        "partition.assignment.strategy",
        "exclude.internal.topics",
        "zookeeper.connect",
    }
)
_NOT_FOR_SINK: Final = frozenset(
    {
        "acks",
        "enable.idempotence",
        "interceptor.classes",
        "key.serializer",
        "value.serializer",
        "max.in.flight.requests.per.connection",
        "partitioner.class",
        "producer.type",
        "retries",
        "serializer.class",
        "transactional.id",
    }
)


@dataclass(frozen=True, slots=True)
class MirrorSettings:
    """`pattern` is a regular expression for whole names of topics; Kafka's own and Moldau's are never mirrored."""

    consumer: Mapping[str, str]
    producer: Mapping[str, str]
    pattern: re.Pattern[str]
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def group(self) -> str:
        return self.consumer.get("group.id") or DEFAULT_GROUP

    @property
    def reset(self) -> str:
        """Where to begin in topics that are there at the first start."""
        return self.consumer.get("auto.offset.reset", "latest")

    @property
    def isolation_level(self) -> str:
        return self.consumer.get("isolation.level", "read_committed")

    def source_options(self) -> dict[str, str]:
        kept = {f"kafka.{name}": value for name, value in self.consumer.items() if name not in _NOT_FOR_SOURCE}
        return kept | {
            "kafka.group.id": self.group,
            "kafka.isolation.level": self.isolation_level,
            "includeHeaders": "true",
            **self.options,
        }

    def sink_options(self) -> dict[str, str]:
        return {f"kafka.{name}": value for name, value in self.producer.items() if name not in _NOT_FOR_SINK}

    def wants(self, topic: str) -> bool:
        return not topic.startswith("__") and self.pattern.fullmatch(topic) is not None


def mirror_settings(consumer: Mapping[str, str], producer: Mapping[str, str], pattern: str) -> MirrorSettings:
    """Settings, if they make sense; a comma in the pattern means `or`, as in Kafka."""
    for name, given in (("--consumer.config", consumer), ("--producer.config", producer)):
        if not given.get("bootstrap.servers"):
            raise PipelineError(f"{name} has no bootstrap.servers: add bootstrap.servers=HOST:PORT to the file")
    if consumer["bootstrap.servers"] == producer["bootstrap.servers"]:
        raise PipelineError(
            f"source and target are both {consumer['bootstrap.servers']}: a topic cannot be mirrored into itself"
        )
    text = pattern.strip().strip("\"'").replace(",", "|").replace(" ", "")
    try:
        compiled = re.compile(text)
    except re.error as error:
        raise PipelineError(f"--include {pattern!r} is no regular expression: {error}") from error
    settings = MirrorSettings(dict(consumer), dict(producer), compiled)
    if settings.reset not in RESETS:
        raise PipelineError(f"auto.offset.reset is {settings.reset!r}, but has to be {' or '.join(RESETS)}")
    return settings
