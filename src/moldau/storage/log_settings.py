"""What a log obeys, taken out of its topic's configuration once so that the hot path reads plain attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from moldau.records.compression import CompressionType
from moldau.records.record import TimestampType

if TYPE_CHECKING:
    from moldau.base.config.topic_config import TopicConfig

INT64_MAX = (1 << 63) - 1
DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Each field is the topic setting of the same name, with Kafka's default."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * DAY_MS
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 * 1024 * 1024
    index_interval_bytes: int = 4096
    preallocate: bool = False
    flush_messages: int = INT64_MAX
    flush_ms: int = INT64_MAX
    max_message_bytes: int = 1_048_588
    compact: bool = False
    delete: bool = True
    retention_ms: int = 7 * DAY_MS
    retention_bytes: int = -1
    delete_retention_ms: int = DAY_MS
    file_delete_delay_ms: int = 60_000
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = INT64_MAX
    compression_type: CompressionType | None = None  # None keeps the producer's
    compression_level: int | None = None
    message_timestamp_type: TimestampType = TimestampType.CREATE_TIME
    message_timestamp_before_max_ms: int = INT64_MAX
    message_timestamp_after_max_ms: int = INT64_MAX

    @classmethod
    def of(cls, config: TopicConfig) -> LogSettings:
        policies = config.texts("cleanup.policy")
        codec, level = _compression(config)
        return cls(
            segment_bytes=config.integer("segment.bytes"),
            segment_ms=config.integer("segment.ms"),
            segment_jitter_ms=config.integer("segment.jitter.ms"),
            segment_index_bytes=config.integer("segment.index.bytes"),
            index_interval_bytes=config.integer("index.interval.bytes"),
            preallocate=config.boolean("preallocate"),
            flush_messages=config.integer("flush.messages"),
            flush_ms=config.integer("flush.ms"),
            max_message_bytes=config.integer("max.message.bytes"),
            compact="compact" in policies,
            delete="delete" in policies,
            retention_ms=config.integer("retention.ms"),
            retention_bytes=config.integer("retention.bytes"),
            delete_retention_ms=config.integer("delete.retention.ms"),
            file_delete_delay_ms=config.integer("file.delete.delay.ms"),
            min_cleanable_dirty_ratio=config.number("min.cleanable.dirty.ratio"),
            min_compaction_lag_ms=config.integer("min.compaction.lag.ms"),
            max_compaction_lag_ms=config.integer("max.compaction.lag.ms"),
            compression_type=codec,
            compression_level=level,
            message_timestamp_type=_TIMESTAMP_TYPES[config.text("message.timestamp.type")],
            message_timestamp_before_max_ms=config.integer("message.timestamp.before.max.ms"),
            message_timestamp_after_max_ms=config.integer("message.timestamp.after.max.ms"),
        )


_TIMESTAMP_TYPES = {"CreateTime": TimestampType.CREATE_TIME, "LogAppendTime": TimestampType.LOG_APPEND_TIME}
_LEVELS = {"gzip": "compression.gzip.level", "lz4": "compression.lz4.level", "zstd": "compression.zstd.level"}


def _compression(config: TopicConfig) -> tuple[CompressionType | None, int | None]:
    """The codec that batches are stored in, and its level."""
    name = config.text("compression.type")
    if name == "producer":
        return None, None
    if name == "uncompressed":
        return CompressionType.NONE, None
    return CompressionType[name.upper()], config.integer(_LEVELS[name]) if name in _LEVELS else None
