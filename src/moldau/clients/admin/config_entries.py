"""Settings as they are described and changed: of what, where a value comes from, what is done to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from moldau.clients.admin.operations import ProtocolEnum
from moldau.protocol.messages.describe_configs import DescribeConfigsResourceResult


class ConfigResourceType(ProtocolEnum):
    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(ProtocolEnum):
    """Where a value comes from (KIP-226)."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class ConfigType(ProtocolEnum):
    """What a value is (KIP-569)."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class OpType(ProtocolEnum):
    """What is done to a setting (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigResource(NamedTuple):
    """What has settings; a broker without a name stands for all brokers."""

    type: ConfigResourceType
    name: str = ""

    @classmethod
    def topic(cls, name: str) -> ConfigResource:
        return cls(ConfigResourceType.TOPIC, name)

    @classmethod
    def broker(cls, broker_id: int | None = None) -> ConfigResource:
        return cls(ConfigResourceType.BROKER, "" if broker_id is None else str(broker_id))

    @classmethod
    def group(cls, group_id: str) -> ConfigResource:
        return cls(ConfigResourceType.GROUP, group_id)

    def __str__(self) -> str:
        return f"{self.type.name} {self.name or '(default)'}"


class AlterConfigOp(NamedTuple):
    """A change of one setting."""

    name: str
    value: str | None = None
    op_type: OpType = OpType.SET


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """A setting; secret ones have no value here. `synonyms` are those that could give it, strongest first."""

    name: str
    value: str | None
    source: ConfigSource
    is_sensitive: bool
    is_read_only: bool
    synonyms: tuple[ConfigSynonym, ...]
    type: ConfigType
    documentation: str | None

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSource.DEFAULT_CONFIG


Config = dict[str, ConfigEntry]


def config_entry(result: DescribeConfigsResourceResult, of: ConfigResource) -> ConfigEntry:
    source = ConfigSource(max(0, result.config_source))
    if result.config_source < 0:  # version 0 has only a flag
        explicit = (
            ConfigSource.DYNAMIC_TOPIC_CONFIG
            if of.type is ConfigResourceType.TOPIC
            else ConfigSource.STATIC_BROKER_CONFIG
        )
        source = ConfigSource.DEFAULT_CONFIG if result.is_default else explicit
    return ConfigEntry(
        result.name,
        result.value,
        source,
        result.is_sensitive,
        result.read_only,
        tuple(ConfigSynonym(each.name, each.value, ConfigSource(each.source)) for each in result.synonyms),
        ConfigType(result.config_type),
        result.documentation,
    )
