"""What a consumer counts, under Kafka's names."""

from __future__ import annotations

from moldau.base.clock import Clock


class ConsumerMetrics:
    """Plain counters; averages and rates are made when somebody asks, over the consumer's life."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._started_ms = clock.monotonic_ms()
        self.bytes_consumed = 0
        self.records_consumed = 0
        self.fetches = 0
        self.fetch_latency_ms = 0.0
        self.fetch_latency_max_ms = 0.0
        self.polls = 0
        self.last_poll_ms = self._started_ms
        self.commits = 0
        self.commit_latency_ms = 0.0
        self.heartbeats = 0
        self.rebalances = 0
        self.failed_rebalances = 0
        self.rebalance_latency_ms = 0.0

    def fetched(self, latency_ms: float) -> None:
        self.fetches += 1
        self.fetch_latency_ms += latency_ms
        self.fetch_latency_max_ms = max(self.fetch_latency_max_ms, latency_ms)

    def committed(self, latency_ms: float) -> None:
        self.commits += 1
        self.commit_latency_ms += latency_ms

    def numbers(self) -> dict[str, float]:
        now_ms = self._clock.monotonic_ms()
        seconds = max(now_ms - self._started_ms, 1.0) / 1000
        return {
            "bytes-consumed-total": self.bytes_consumed,
            "bytes-consumed-rate": self.bytes_consumed / seconds,
            "records-consumed-total": self.records_consumed,
            "records-consumed-rate": self.records_consumed / seconds,
            "fetch-total": self.fetches,
            "fetch-rate": self.fetches / seconds,
            "fetch-latency-avg": self.fetch_latency_ms / max(self.fetches, 1),
            "fetch-latency-max": self.fetch_latency_max_ms,
            "fetch-size-avg": self.bytes_consumed / max(self.fetches, 1),
            "records-per-request-avg": self.records_consumed / max(self.fetches, 1),
            "last-poll-seconds-ago": (now_ms - self.last_poll_ms) / 1000,
            "commit-total": self.commits,
            "commit-rate": self.commits / seconds,
            "commit-latency-avg": self.commit_latency_ms / max(self.commits, 1),
            "heartbeat-total": self.heartbeats,
            "heartbeat-rate": self.heartbeats / seconds,
            "rebalance-total": self.rebalances,
            "failed-rebalance-total": self.failed_rebalances,
            "rebalance-latency-total": self.rebalance_latency_ms,
            "rebalance-latency-avg": self.rebalance_latency_ms / max(self.rebalances, 1),
        }
