"""Three brokers beside three of Apache Kafka 4.3.0: replicated writes, a leader that goes, a follower that is behind.

As in `bench_broker`: both clusters are started fresh for every scenario, warmed by the load itself, and measured in
turn. Moldau's brokers meet on one ZooKeeper, whose memory is not counted; Kafka's are their own quorum.

`python -m bench cluster` measures everything. To look at one thing again and again:
`python -m bench.bench_cluster produce_1k --quick --only moldau`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from bench.bench_broker import FULL, Amount, main, rows_of
from bench.bench_broker_process import BrokerProcess
from bench.bench_broker_scenario import Scenario
from bench.bench_cluster_load import CatchUp, ClusterMemory, LeaderGap, ReplicatedLatency, ReplicatedProduce
from bench.cluster_process import KafkaCluster, MoldauCluster
from bench.measure import Row

SIDES: dict[str, type[BrokerProcess]] = {"moldau": MoldauCluster, "kafka": KafkaCluster}
MANY = 1_000

SCENARIOS: dict[str, Callable[[Amount], Scenario]] = {
    "produce_1k": lambda amount: ReplicatedProduce(1024, amount.produced_bytes // 2, "mb_per_s", "MB/s"),
    "produce_100": lambda amount: ReplicatedProduce(100, amount.produced_bytes // 4, "records_per_s", "rec/s"),
    "latency": lambda amount: ReplicatedLatency(2 * amount.seconds, 2_000, 5, "≤1"),
    "latency_0": lambda amount: ReplicatedLatency(2 * amount.seconds, 2_000, 0),
    "kill_1": lambda _amount: LeaderGap(1, is_clean=False),
    "kill_1000": lambda amount: LeaderGap(min(MANY, amount.topics), is_clean=False),
    "shutdown_1": lambda _amount: LeaderGap(1, is_clean=True),
    "shutdown_1000": lambda amount: LeaderGap(min(MANY, amount.topics), is_clean=True),
    "memory": lambda amount: ClusterMemory(amount.produced_bytes),
    "catch_up": lambda amount: CatchUp(amount.through_bytes),
}


def rows() -> list[Row]:
    return [row for scenario in SCENARIOS.values() for row in rows_of(scenario(FULL), 3, SIDES)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], SCENARIOS, "python -m bench.bench_cluster", SIDES))
