"""A shop for the demonstrations: a broker, a generator of orders, and the pipeline `orders.toml` as a process."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from moldau import Consumer, Producer, TopicPartition
from moldau.testing.local_cluster import LocalCluster

ORDERS, CHECKED, TOTALS = "orders", "checked-orders", "order-totals"
PARTITIONS = 4
PIPELINE = Path(__file__).parent / "orders.toml"
COUNTRIES = ("AT", "CZ", "DE", "FR", "IT", "PL")
STOP_S_MAX = 60.0
# Java that starts fast; compiling for hours to come takes longer than the whole demonstration.
SHORT_LIFE = ("spark.driver.memory=1g", "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


class Generator:
    """Produces orders at a rate until there are enough; `sent` so far, with their sum in `cents`."""

    def __init__(self, servers: str, rate: int, count: int | None = None) -> None:
        self.sent = 0
        self.cents = 0
        self.by_country: Counter[str] = Counter()
        self._servers = servers
        self._rate = rate
        self._count = count
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="generator", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(STOP_S_MAX)

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        draws = random.Random(7)
        started = time.monotonic()
        with Producer(bootstrap_servers=self._servers, linger_ms=5) as producer:
            while not self._stopping.is_set() and self.sent != self._count:
                due = int((time.monotonic() - started) * self._rate) + 1
                for _ in range(self.sent, due if self._count is None else min(due, self._count)):
                    order = self._order(draws)
                    producer.send(ORDERS, json.dumps(order).encode(), key=str(order["customer"]).encode())
                self._stopping.wait(0.01)
            producer.flush()

    def _order(self, draws: random.Random) -> dict[str, object]:
        self.sent += 1
        cents, country = draws.randrange(100, 100_000), draws.choice(COUNTRIES)
        self.cents += cents
        self.by_country[country] += 1
        return {"id": self.sent, "customer": f"c{draws.randrange(500)}", "country": country, "cents": cents}


class PipelineProcess:
    """`moldau pipeline run orders.toml` with everything that it starts, in a process group of its own."""

    def __init__(
        self, servers: str, checkpoint: Path, log: Path, master: str = "local[2]", settings: Sequence[str] = ()
    ) -> None:
        words = ["run", str(PIPELINE), "--set", f"servers={servers}", "--checkpoint", str(checkpoint), "--plain"]
        words += ["--master", master]
        for setting in (*SHORT_LIFE, *settings):
            words += ["--set", setting]
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "moldau", "pipeline", *words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """kill -9 of the driver, its JVM and its workers."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(STOP_S_MAX)

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        self._process.terminate()
        try:
            return self._process.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired:
            self.kill()
            raise


def make_topics(cluster: LocalCluster) -> None:
    cluster.create_topic(ORDERS, PARTITIONS)
    cluster.create_topic(CHECKED, PARTITIONS)
    cluster.create_topic(TOTALS, 1, {"cleanup.policy": "compact"})


def committed_values(servers: str, topic: str, partitions: int) -> Iterator[dict[str, object]]:
    """Everything in a topic that readers of committed records see, up to its end now."""
    all_partitions = [TopicPartition(topic, number) for number in range(partitions)]
    with Consumer(bootstrap_servers=servers, isolation_level="read_committed") as consumer:
        consumer.assign(all_partitions)
        consumer.seek_to_beginning(all_partitions)
        ends = consumer.end_offsets(all_partitions)
        while any(consumer.position(each) < ends[each] for each in all_partitions):
            for record in consumer.poll(1.0):
                yield json.loads(record.value)


def count_checked(servers: str) -> Counter[object]:
    """How many times each order is in the pipeline's output."""
    return Counter(each["id"] for each in committed_values(servers, CHECKED, PARTITIONS))


def last_totals(servers: str) -> dict[object, dict[str, object]]:
    """The last total of each country."""
    return {each["country"]: each for each in committed_values(servers, TOTALS, 1)}
