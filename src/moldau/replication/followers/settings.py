"""How a broker follows: the settings, and what `inter.broker.protocol.version` says of leader epochs.

    before 0.11    a new follower cuts its log to its own high watermark and asks nobody. Records that were acknowledged
                   can be lost, and logs can differ for ever (KIP-101 tells how): it is there to show that.
    0.11 to 2.6    it asks the leader where its last epoch ends (OffsetForLeaderEpoch), cuts, and then fetches
    from 2.7       it fetches, and says the epoch of its last record; a leader whose log differs says where (KIP-595)

Versions of requests are not lowered any further than this takes: batches are always copied as they are.
"""

from __future__ import annotations

from typing import NamedTuple

from moldau.base.config.broker_config import BrokerConfig

EPOCHS_RELEASE = (0, 11)
TRUNCATION_ON_FETCH_RELEASE = (2, 7)
TOPIC_IDS_RELEASE = (3, 1)

TRUNCATION_ON_FETCH_VERSION = 12  # of Fetch
TOPIC_IDS_VERSION = 13
NEWEST_VERSION = 32_767


class FollowerSettings(NamedTuple):
    """What fetchers obey; a field is named like its setting without `replica.`."""

    fetchers: int = 1
    fetch_wait_max_ms: int = 500
    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 1 << 20
    fetch_response_max_bytes: int = 10 << 20
    fetch_backoff_ms: int = 1000
    socket_timeout_ms: int = 30_000
    socket_receive_buffer_bytes: int = 64 << 10
    uses_epochs: bool = True
    fetch_version_max: int = NEWEST_VERSION

    @classmethod
    def of(cls, config: BrokerConfig) -> FollowerSettings:
        release = release_of(config.text("inter.broker.protocol.version"))
        return cls(
            fetchers=max(config.integer("num.replica.fetchers"), 1),
            fetch_wait_max_ms=config.integer("replica.fetch.wait.max.ms"),
            fetch_min_bytes=config.integer("replica.fetch.min.bytes"),
            fetch_max_bytes=config.integer("replica.fetch.max.bytes"),
            fetch_response_max_bytes=config.integer("replica.fetch.response.max.bytes"),
            fetch_backoff_ms=config.integer("replica.fetch.backoff.ms"),
            socket_timeout_ms=config.integer("replica.socket.timeout.ms"),
            socket_receive_buffer_bytes=config.integer("replica.socket.receive.buffer.bytes"),
            uses_epochs=release >= EPOCHS_RELEASE,
            fetch_version_max=fetch_version_of(release),
        )


def fetch_version_of(release: tuple[int, ...]) -> int:
    """The newest version of Fetch that goes with a release."""
    if release < TRUNCATION_ON_FETCH_RELEASE:
        return TRUNCATION_ON_FETCH_VERSION - 1
    return TOPIC_IDS_VERSION - 1 if release < TOPIC_IDS_RELEASE else NEWEST_VERSION


def release_of(version: str) -> tuple[int, ...]:
    """`3.9-IV0` is of release (3, 9)."""
    return tuple(int(number) for number in version.partition("-")[0].split("."))
