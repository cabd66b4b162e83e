"""Groups and transactions beside Apache Kafka 4.3.0: same machine, same disk, same clients, same run.

As in `bench_broker`: fresh brokers for every scenario, warmed by the load itself, measured in turn.

`python -m bench coordinators` measures everything. To look at one thing again and again:
`python -m bench.bench_coordinators heartbeats --quick --only moldau`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from bench.bench_broker import FULL, Amount, main, rows_of
from bench.bench_broker_scenario import Scenario
from bench.bench_coordinators_load import Commits, Heartbeats, Loading, Rebalance, Transactions
from bench.measure import Row

SCENARIOS: dict[str, Callable[[Amount], Scenario]] = {
    "commits_1": lambda amount: Commits(1, amount.seconds),
    "commits_8": lambda amount: Commits(8, amount.seconds),
    "heartbeats": lambda amount: Heartbeats(1_000, amount.seconds),
    "rebalance": lambda amount: Rebalance(100, 4 * amount.seconds),
    "transactions_1": lambda amount: Transactions(1, amount.seconds),
    "transactions_8": lambda amount: Transactions(8, amount.seconds),
    "loading": lambda amount: Loading(amount.commits),
}


def rows() -> list[Row]:
    return [row for scenario in SCENARIOS.values() for row in rows_of(scenario(FULL), FULL.repetitions)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], SCENARIOS, "python -m bench.bench_coordinators"))
