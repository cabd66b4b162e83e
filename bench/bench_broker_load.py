"""The rows of the broker's bench in which a warm broker is under load: produce, consume, requests, latency."""

from __future__ import annotations

from bench.bench_broker_process import BrokerProcess
from bench.bench_broker_scenario import Figure, Scenario
from bench.load.program import Figures, run_load

SIZE_NAMES = {1024: "1 KB", 100: "100 B"}
PARTITIONS = 20  # one for each connection that there may be


class Produce(Scenario):
    """One producer fills a new topic of one partition; librdkafka's in-memory broker does the same beside them."""

    reference = "librdkafka's mock"

    def __init__(self, record_bytes: int, total_bytes: int, key: str, unit: str, bar: str) -> None:
        self._record_bytes = record_bytes
        self._records = total_bytes // record_bytes
        name = f"confluent-kafka produce, {SIZE_NAMES[record_bytes]}, acks=1, linger 5"
        self.figures = (Figure(key, name, unit, bar),)

    def measure(self, broker: BrokerProcess) -> Figures:
        return self.fill(broker, broker.new_topic())

    def fill(self, broker: BrokerProcess, topic: str) -> Figures:
        return run_load("produce", bootstrap=broker.bootstrap, topic=topic, **self.amount)

    def measure_reference(self) -> Figures:
        return run_load("produce", topic="bench", **self.amount)

    @property
    def amount(self) -> dict[str, int]:
        return {"records": self._records, "record_bytes": self._record_bytes}


class Consume(Scenario):
    """One consumer reads a topic of one partition from its beginning; it is in the page cache."""

    def __init__(self, produce: Produce, key: str, unit: str, bar: str) -> None:
        self._produce = produce
        self._topics: dict[int, str] = {}  # by the broker's port
        self.figures = (Figure(key, f"consume {SIZE_NAMES[produce.amount['record_bytes']]}", unit, bar),)

    def prepare(self, broker: BrokerProcess) -> None:
        topic = self._topics[broker.port] = broker.new_topic()
        self._produce.fill(broker, topic)

    def measure(self, broker: BrokerProcess) -> Figures:
        topic = self._topics[broker.port]
        return run_load("consume", bootstrap=broker.bootstrap, topic=topic, **self._produce.amount)


class Requests(Scenario):
    """Bare connections that send one record a request."""

    def __init__(self, connections: int, in_flight: int, seconds: float, bar: str) -> None:
        self._load = {"connections": connections, "in_flight": in_flight, "seconds": seconds}
        self._topics: dict[int, str] = {}
        name = f"one-record requests, {connections} connection{'s' * (connections > 1)} × {in_flight} in flight"
        self.figures = (
            Figure("requests_per_s", name, "req/s", bar),
            Figure("p50_us", f"{name}, p50", "µs"),
            Figure("p99_us", f"{name}, p99", "µs", "≤1"),
        )

    def prepare(self, broker: BrokerProcess) -> None:
        self._topics[broker.port] = broker.new_topic(PARTITIONS)

    def measure(self, broker: BrokerProcess) -> Figures:
        return run_load("requests", port=broker.port, topic=self._topics[broker.port], **self._load)


class Latency(Scenario):
    """A producer and a consumer in one process."""

    def __init__(self, seconds: int, per_s: int) -> None:
        self._load = {"records": seconds * per_s, "per_s": per_s}
        name = f"end-to-end latency produce→consume at {per_s:,} msg/s"
        self.figures = (
            Figure("p50_ms", f"{name}, p50", "ms", "≤0.8"),
            Figure("p99_ms", f"{name}, p99", "ms", "≤0.8"),
        )

    def measure(self, broker: BrokerProcess) -> Figures:
        return run_load("latency", bootstrap=broker.bootstrap, topic=broker.new_topic(), **self._load)
