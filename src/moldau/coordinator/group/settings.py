"""What groups obey of a broker's configuration, taken once."""

from __future__ import annotations

from dataclasses import dataclass

from moldau.base.config.broker_config import BrokerConfig
from moldau.records.compression import CompressionType

MINUTE_MS = 60_000
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * MINUTE_MS


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """Kafka's defaults."""

    partitions: int = 50
    session_timeout_ms_min: int = 6_000
    session_timeout_ms_max: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = 2**31 - 1
    offset_metadata_bytes_max: int = 4_096
    offsets_retention_ms: int = 7 * 24 * 60 * MINUTE_MS
    retention_check_interval_ms: int = 10 * MINUTE_MS
    commit_timeout_ms: int = 5_000
    compression: CompressionType = CompressionType.NONE

    @classmethod
    def of(cls, config: BrokerConfig) -> GroupSettings:
        return cls(
            partitions=config.integer("offsets.topic.num.partitions"),
            session_timeout_ms_min=config.integer("group.min.session.timeout.ms"),
            session_timeout_ms_max=config.integer("group.max.session.timeout.ms"),
            initial_rebalance_delay_ms=config.integer("group.initial.rebalance.delay.ms"),
            max_size=config.integer("group.max.size"),
            offset_metadata_bytes_max=config.integer("offset.metadata.max.bytes"),
            offsets_retention_ms=config.integer("offsets.retention.minutes") * MINUTE_MS,
            retention_check_interval_ms=config.integer("offsets.retention.check.interval.ms"),
            commit_timeout_ms=config.integer("offsets.commit.timeout.ms"),
            compression=CompressionType(config.integer("offsets.topic.compression.codec")),
        )
