"""The rows of the coordinators' bench: commits, heartbeats, rebalances, transactions, and loading after a restart."""

from __future__ import annotations

import itertools
import time

from bench.bench_broker_process import BrokerProcess
from bench.bench_broker_scenario import Figure, Scenario
from bench.load.program import Figures, run_load
from bench.load.stored_commits import await_offsets, commit_many
from bench.memory import settle

BAR = "≥1"
PARTITIONS = 100


class Commits(Scenario):
    """Consumers that commit one offset after the other, each in a group of its own."""

    def __init__(self, consumers: int, seconds: float) -> None:
        self._load = {"consumers": consumers, "seconds": seconds}
        name = f"offset commits, confluent-kafka, {consumers} at a time"
        self.figures = (Figure("commits_per_s", name, "commits/s", BAR),)

    def measure(self, broker: BrokerProcess) -> Figures:
        return run_load("commits", bootstrap=broker.bootstrap, topic=broker.new_topic(), **self._load)


class Transactions(Scenario):
    """Producers that commit one record after the other."""

    def __init__(self, producers: int, seconds: float) -> None:
        self._producers = producers
        self._load = {"producers": producers, "seconds": seconds}
        name = f"small transactions, confluent-kafka, {producers} at a time"
        self.figures = (Figure("transactions_per_s", name, "transactions/s", BAR),)

    def measure(self, broker: BrokerProcess) -> Figures:
        topic = broker.new_topic(self._producers)
        return run_load("transactions", bootstrap=broker.bootstrap, topic=topic, **self._load)


class Heartbeats(Scenario):
    """Members that do nothing but live."""

    def __init__(self, members: int, seconds: float) -> None:
        self._load = {"members": members, "seconds": seconds}
        self._numbers = itertools.count(1)
        name = f"heartbeats, {members:,} members on {members:,} connections"
        self.figures = (Figure("heartbeats_per_s", name, "heartbeats/s", BAR),)

    def measure(self, broker: BrokerProcess) -> Figures:
        return run_load("heartbeats", port=broker.port, group_id=f"beating-{next(self._numbers)}", **self._load)


class Rebalance(Scenario):
    """A group that stands and is asked to begin again."""

    def __init__(self, members: int, rounds: int) -> None:
        self._load = {"members": members, "rounds": rounds}
        self._numbers = itertools.count(1)
        name = f"rebalance of {members} members, until all are stable again"
        self.figures = (Figure("rebalance_ms", name, "ms", "≤1"),)

    def measure(self, broker: BrokerProcess) -> Figures:
        return run_load("rebalance", port=broker.port, group_id=f"group-{next(self._numbers)}", **self._load)


class Loading(Scenario):
    """A broker is restarted whose groups have committed often, from the start of the process until all are served.

    Three sizes, each twice the one before: what the second half of the commits costs beside the first is the last row,
    with whatever a start costs left out.
    """

    fresh = True

    def __init__(self, commits: int) -> None:
        self._sizes = {f"size_{part}": commits // part for part in (4, 2, 1)}
        self.figures = (
            *(Figure(key, f"restart until {count:,} commits are loaded", "s") for key, count in self._sizes.items()),
            Figure("growth", "growth of the second half against twice that of the first", "×"),
        )

    def measure(self, broker: BrokerProcess) -> Figures:
        broker.start()
        topic = broker.new_topic(PARTITIONS)
        done, took_s = 0, {}
        for key, count in self._sizes.items():
            commit_many(broker.port, topic, PARTITIONS, first=done, count=count - done)
            done = count
            broker.stop()
            settle()
            started_s = time.perf_counter()
            broker.start()
            await_offsets(broker.port, topic, PARTITIONS, done)
            took_s[key] = time.perf_counter() - started_s
        quarter, half, whole = took_s.values()
        return {**took_s, "growth": (whole - half) / (2 * (half - quarter))}
