"""The rows of the broker's bench about a broker's whole life: its start, its memory, and many topics.

Every repetition has a process and a folder of its own.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Iterator

from bench.bench_broker_load import Consume, Produce
from bench.bench_broker_process import BrokerProcess
from bench.bench_broker_scenario import Figure, Scenario
from bench.load.program import Figures
from bench.load.wire import Wire, metadata_frame
from bench.memory import settle

IDLE_S = 5.0
TOPICS_A_REQUEST = 100
METADATA_REQUESTS = 50
MB = 1e6


class Start(Scenario):
    """From the start of the process to its first answer, with an empty data directory."""

    fresh = True
    figures = (Figure("start_s", "process start to first Metadata answer", "s", "≤0.2"),)

    def measure(self, broker: BrokerProcess) -> Figures:
        return {"start_s": broker.start()}


class Memory(Scenario):
    """What the process and its children hold, a while after the start, and after data has gone in and out."""

    fresh = True

    def __init__(self, produce: Produce, through: str) -> None:
        self._produce = produce
        self.figures = (
            Figure("idle_mb", "resident memory, idle", "MB", "≤0.15"),
            Figure("after_mb", f"resident memory, after {through} through it", "MB", "≤0.25"),
        )

    def measure(self, broker: BrokerProcess) -> Figures:
        broker.start()
        time.sleep(IDLE_S)
        idle_bytes = broker.resident_bytes()
        consume = Consume(self._produce, "mb_per_s", "MB/s", "")
        consume.prepare(broker)
        consume.measure(broker)
        return {"idle_mb": idle_bytes / MB, "after_mb": broker.resident_bytes() / MB}


class Topics(Scenario):
    """Many topics of one partition: create them, restart, ask for all.

    The first two end when every partition tells its end; a restart is counted from the start of the new process. The
    broker is warm when topics are created and when Metadata is asked for.
    """

    fresh = True

    def __init__(self, count: int) -> None:
        self._names = [f"topic-{number}" for number in range(count)]
        name = f"{count:,} topics × 1 partition"
        self.figures = (
            Figure("create_s", f"{name}: create", "s", "≤1"),
            Figure("restart_s", f"{name}: restart", "s", "≤1"),
            Figure("metadata_ms", f"{name}: Metadata for all", "ms", "≤1"),
        )

    def measure(self, broker: BrokerProcess) -> Figures:
        broker.start()
        with Wire(broker.port) as wire:
            for number in until(broker.warm_up_s):
                wire.create_topics([f"warm-up-{number}"])
                wire.delete_topics([f"warm-up-{number}"])
            settle()
            started_s = time.perf_counter()
            for first in range(0, len(self._names), TOPICS_A_REQUEST):
                wire.create_topics(self._names[first : first + TOPICS_A_REQUEST])
            wire.await_ready(self._names)
            create_s = time.perf_counter() - started_s
        broker.stop()
        settle()
        started_s = time.perf_counter()
        broker.start()
        with Wire(broker.port) as wire:
            wire.await_ready(self._names)
            restart_s = time.perf_counter() - started_s
        return {"create_s": create_s, "restart_s": restart_s, "metadata_ms": metadata_ms(broker)}


def metadata_ms(broker: BrokerProcess) -> float:
    """The median time of an answer with all topics; as bytes, since decoding is the client's."""
    frame = metadata_frame()
    with Wire(broker.port) as wire:
        for _ in until(broker.warm_up_s):
            wire.exchange(frame)
        took_s = []
        for _ in range(METADATA_REQUESTS):
            started_s = time.perf_counter()
            wire.exchange(frame)
            took_s.append(time.perf_counter() - started_s)
    return statistics.median(took_s) * 1e3


def until(seconds: float) -> Iterator[int]:
    """0, 1, 2 … for so long."""
    deadline = time.monotonic() + seconds
    for number in itertools.count():
        if time.monotonic() >= deadline:
            return
        yield number
