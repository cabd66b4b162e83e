"""The rows of the cluster's bench."""

from __future__ import annotations

import time
from threading import Thread

from bench.bench_broker_process import BrokerProcess
from bench.bench_broker_scenario import Figure, Scenario
from bench.cluster_process import POLL_S, ClusterProcess, partitions_of
from bench.load.program import Figures, run_load
from bench.load.wire import Wire

ALL = -1
SIZE_NAMES = {1024: "1 KB", 100: "100 B"}
GAP_S_MAX = 60
TOPICS_MAX = 10
CATCH_UP_S_MAX = 300
MB = 1e6


class ReplicatedProduce(Scenario):
    """One producer fills a new topic of one partition with three replicas."""

    def __init__(self, record_bytes: int, total_bytes: int, key: str, unit: str) -> None:
        self._amount = {"records": total_bytes // record_bytes, "record_bytes": record_bytes, "acks": ALL}
        self.figures = (Figure(key, f"confluent-kafka produce, {SIZE_NAMES[record_bytes]}, acks=all", unit, "≥1"),)

    def measure(self, broker: BrokerProcess) -> Figures:
        return run_load("produce", bootstrap=broker.bootstrap, topic=broker.new_topic(), **self._amount)


class ReplicatedLatency(Scenario):
    """A producer and a consumer in one process.

    Without linger each record is a request of its own, and Kafka takes the next request of a connection when the one
    before is replicated. It does not get 2,000 a second done in this way here, so its latency grows for as long as it
    is measured. With librdkafka's own linger both sides keep up, and can be compared.
    """

    def __init__(self, seconds: int, per_s: int, linger_ms: int, bar: str = "") -> None:
        self._load = {"records": seconds * per_s, "per_s": per_s, "acks": ALL, "linger_ms": linger_ms}
        name = f"end-to-end latency at {per_s:,} msg/s, acks=all, linger {linger_ms}"
        self.figures = (Figure("p50_ms", f"{name}, p50", "ms"), Figure("p99_ms", f"{name}, p99", "ms", bar))

    def measure(self, broker: BrokerProcess) -> Figures:
        return run_load("latency", bootstrap=broker.bootstrap, topic=broker.new_topic(), **self._load)


class LeaderGap(Scenario):
    """How long partitions have no leader that is alive when a broker is killed, or told to stop.

    Counted from the kill, or from the signal, until a broker that stays tells of other leaders for all partitions. It
    is never the active controller that goes: how long its election takes is another question.
    """

    def __init__(self, partitions: int, *, is_clean: bool) -> None:
        self._partitions = partitions
        self._is_clean = is_clean
        self._topics: dict[int, str] = {}
        how = "a controlled shutdown" if is_clean else "kill -9"
        count = f"{partitions:,} partition{'s' * (partitions > 1)}"
        self.figures = (Figure("gap_s", f"time to new leaders of {count} after {how}", "s", "≤1"),)

    def warm_up(self, broker: BrokerProcess) -> None:
        """Nothing of it is for a compiler to learn."""

    def measure(self, broker: BrokerProcess) -> Figures:
        assert isinstance(broker, ClusterProcess)
        topic, gone = self._choose(broker)
        witness = next(one for one in broker.brokers if one != gone)
        with Wire(broker.brokers[witness].port) as wire:
            started_s = time.perf_counter()
            ending = Thread(target=broker.brokers[gone].stop if self._is_clean else broker.brokers[gone].kill)
            ending.start()
            deadline = started_s + GAP_S_MAX
            while any(one.leader_id in (gone, -1) for one in partitions_of(wire, topic)):
                assert time.perf_counter() < deadline, f"no leaders after {GAP_S_MAX} s"
                time.sleep(POLL_S)
            took_s = time.perf_counter() - started_s
        ending.join()
        broker.brokers[gone].start()
        broker.await_in_sync(topic, self._partitions)
        return {"gap_s": took_s}

    def _choose(self, cluster: ClusterProcess) -> tuple[str, int]:
        """A topic, and a leader of its partitions that is not the controller."""
        for _ in range(TOPICS_MAX):
            topic = self._topics.pop(cluster.port, None) or cluster.new_topic(self._partitions)
            cluster.await_in_sync(topic, self._partitions)
            controller_id = cluster.controller_id()
            with Wire(cluster.port) as wire:
                leaders = {one.leader_id for one in partitions_of(wire, topic)}
            gone = next((one for one in sorted(leaders) if one != controller_id), None)
            if gone is not None:
                self._topics[cluster.port] = topic
                return topic, gone
        raise AssertionError("the controller leads everything")


class ClusterMemory(Scenario):
    """What three brokers hold after data has gone in."""

    def __init__(self, total_bytes: int) -> None:
        self._produce = ReplicatedProduce(1024, total_bytes, "mb_per_s", "MB/s")
        self.figures = (Figure("memory_mb", "resident memory of three brokers, after a load", "MB", "≤0.2"),)

    def measure(self, broker: BrokerProcess) -> Figures:
        self._produce.measure(broker)
        return {"memory_mb": broker.resident_bytes() / MB}


class CatchUp(Scenario):
    """A follower that was away while data came in, until it is in sync again; its start is counted."""

    def __init__(self, total_bytes: int) -> None:
        self._total_bytes = total_bytes
        name = f"catch-up of a follower {total_bytes / 1e9:g} GB behind"
        self.figures = (Figure("mb_per_s", name, "MB/s", "≥1"),)

    def warm_up(self, broker: BrokerProcess) -> None:
        """The data itself is enough."""

    def measure(self, broker: BrokerProcess) -> Figures:
        assert isinstance(broker, ClusterProcess)
        topic = broker.new_topic()
        with Wire(broker.port) as wire:
            (partition,) = partitions_of(wire, topic)
        behind = next(
            one for one in broker.brokers if one != partition.leader_id and broker.brokers[one].port != broker.port
        )
        broker.brokers[behind].stop()
        amount = {"records": self._total_bytes // 1024, "record_bytes": 1024, "acks": 1}
        run_load("produce", bootstrap=broker.bootstrap, topic=topic, **amount)
        started_s = time.perf_counter()
        broker.brokers[behind].start()
        broker.await_in_sync(topic, timeout_s=CATCH_UP_S_MAX)
        return {"mb_per_s": self._total_bytes / (time.perf_counter() - started_s) / MB}
