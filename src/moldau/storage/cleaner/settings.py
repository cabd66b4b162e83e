"""What the cleaner obeys, for all logs of a broker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moldau.base.config.broker_config import BrokerConfig


@dataclass(frozen=True, slots=True)
class CleanerSettings:
    """Each field is the setting `log.cleaner.…` of the same name, with Kafka's default.

    `io.buffer.size` has no meaning here: pieces of 1 MiB are read and of 512 KiB written, and one batch at a time is
    worked on.
    """

    threads: int = 1
    dedupe_buffer_size: int = 128 * 1024 * 1024
    io_buffer_load_factor: float = 0.9
    io_max_bytes_per_second: float = float("inf")
    backoff_ms: int = 15_000

    @classmethod
    def of(cls, config: BrokerConfig) -> CleanerSettings:
        return cls(
            threads=config.integer("log.cleaner.threads") if config.boolean("log.cleaner.enable") else 0,
            dedupe_buffer_size=config.integer("log.cleaner.dedupe.buffer.size"),
            io_buffer_load_factor=config.number("log.cleaner.io.buffer.load.factor"),
            io_max_bytes_per_second=config.number("log.cleaner.io.max.bytes.per.second"),
            backoff_ms=config.integer("log.cleaner.backoff.ms"),
        )
