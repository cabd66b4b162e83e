"""How many bytes a second throttled replicas may take (KIP-73), measured as Kafka does.

Bytes are counted in windows; the rate is what is in the windows that are not too old, over the time that they cover,
and at least over one window. What is over its rate is not slowed down byte by byte: it is left out until the rate has
come down. Replicas that are in sync are never left out, or the throttle would take them out of sync; what they copy is
counted all the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from moldau.base.clock import Clock
from moldau.base.config.broker_config import BrokerConfig
from moldau.base.config.topic_config import TopicConfig
from moldau.storage.log_directory import TopicPartition

UNLIMITED = 2**63 - 1
ALL_REPLICAS = "*"


class ReplicationThrottle:
    """One limit: of what others fetch from a broker, of what it fetches itself, or of what it moves."""

    def __init__(self, clock: Clock, windows: int = 11, window_ms: int = 1000) -> None:
        self._clock = clock
        self._windows = windows
        self._window_ms = window_ms
        self._counts: deque[tuple[float, int]] = deque()  # start and bytes of each window
        self._topics: dict[str, frozenset[int] | None] = {}  # None: all partitions
        self.rate_max = UNLIMITED

    def throttle_topic(self, topic: str, partitions: frozenset[int] | None) -> None:
        """Which partitions of a topic are throttled here; None is all, an empty set none."""
        if partitions is None or partitions:
            self._topics[topic] = partitions
        else:
            self._topics.pop(topic, None)

    def is_throttled(self, key: TopicPartition) -> bool:
        if key[0] not in self._topics:
            return False
        partitions = self._topics[key[0]]
        return partitions is None or key[1] in partitions

    def record(self, size_bytes: int) -> None:
        now_ms = self._clock.monotonic_ms()
        self._forget_old(now_ms)
        counts = self._counts
        if counts and now_ms - counts[-1][0] < self._window_ms:
            counts[-1] = counts[-1][0], counts[-1][1] + size_bytes
        else:
            counts.append((now_ms, size_bytes))

    def is_exceeded(self) -> bool:
        return self.rate_max != UNLIMITED and self.rate() > self.rate_max

    def rate(self) -> float:
        """Bytes a second."""
        now_ms = self._clock.monotonic_ms()
        self._forget_old(now_ms)
        if not self._counts:
            return 0.0
        covered_ms = max(now_ms - self._counts[0][0], self._window_ms)
        return sum(size_bytes for _, size_bytes in self._counts) * 1000 / covered_ms

    def _forget_old(self, now_ms: float) -> None:
        oldest_ms = now_ms - self._windows * self._window_ms
        while self._counts and self._counts[0][0] <= oldest_ms:
            self._counts.popleft()


def throttled_partitions(replicas: Iterable[str], broker_id: int) -> frozenset[int] | None:
    """Which partitions a topic's setting throttles on a broker: `partition:broker` pairs, or `*` for all (None)."""
    pairs = [text.strip() for text in replicas if text.strip()]
    if pairs == [ALL_REPLICAS]:
        return None
    split = (text.partition(":") for text in pairs if ":" in text)
    return frozenset(int(partition) for partition, _, broker in split if int(broker) == broker_id)


class ReplicationThrottles:
    """The throttles of a broker, of moves between its directories too, and the settings that they obey."""

    def __init__(self, clock: Clock, config: BrokerConfig) -> None:
        windows = config.integer("replication.quota.window.num")
        window_ms = config.integer("replication.quota.window.size.seconds") * 1000
        self.leader = ReplicationThrottle(clock, windows, window_ms)
        self.follower = ReplicationThrottle(clock, windows, window_ms)
        move_windows = config.integer("alter.log.dirs.replication.quota.window.num")
        move_window_ms = config.integer("alter.log.dirs.replication.quota.window.size.seconds") * 1000
        self.moves = ReplicationThrottle(clock, move_windows, move_window_ms)
        self.configure(config)

    def configure(self, config: BrokerConfig) -> None:
        self.leader.rate_max = config.integer("leader.replication.throttled.rate")
        self.follower.rate_max = config.integer("follower.replication.throttled.rate")
        self.moves.rate_max = config.integer("replica.alter.log.dirs.io.max.bytes.per.second")

    def configure_topic(self, topic: str, config: TopicConfig, broker_id: int) -> None:
        for throttle, side in ((self.leader, "leader"), (self.follower, "follower")):
            replicas = config.texts(f"{side}.replication.throttled.replicas")
            throttle.throttle_topic(topic, throttled_partitions(replicas, broker_id))
