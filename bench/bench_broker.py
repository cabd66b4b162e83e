"""The broker beside Apache Kafka 4.3.0: same machine, same disk, same client, same run.

For every scenario both brokers are started fresh, warmed by the load itself (Kafka for at least ten seconds), and
then measured in turn. A row holds the medians; its ratio is the median of the ratios of neighbouring runs, since what
else the machine does changes more slowly than that. Every load runs in a process of its own and checks that all has
arrived.

`python -m bench broker` measures everything. To look at one thing again and again:
`python -m bench.bench_broker produce_1k requests_1x5 --quick --only moldau`.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple

from bench.bench_broker_life import Memory, Start, Topics
from bench.bench_broker_load import Consume, Latency, Produce, Requests
from bench.bench_broker_process import BrokerProcess
from bench.bench_broker_scenario import Figure, Scenario
from bench.kafka_server import KafkaServer
from bench.load.program import Figures
from bench.measure import Row, paired_row, table
from bench.memory import settle
from bench.moldau_server import MoldauServer

SIDES: dict[str, type[BrokerProcess]] = {"moldau": MoldauServer, "kafka": KafkaServer}
AGAINST = "Apache Kafka 4.3.0"
REFERENCE = "reference"
CPU = Figure("cpu_s", "processor time of the broker, for a whole run", "s")


class Amount(NamedTuple):
    """How much is done: enough to be certain, or enough to see where one stands."""

    repetitions: int
    produced_bytes: int
    consumed_bytes: int
    through_bytes: int
    through: str
    seconds: int
    topics: int
    commits: int


FULL = Amount(5, 400_000_000, 800_000_000, 2_000_000_000, "2 GB", 5, 2_000, 1_000_000)
QUICK = Amount(1, 100_000_000, 200_000_000, 200_000_000, "200 MB", 2, 500, 100_000)

SCENARIOS: dict[str, Callable[[Amount], Scenario]] = {
    "produce_1k": lambda amount: Produce(1024, amount.produced_bytes, "mb_per_s", "MB/s", "≥1.3"),
    "produce_100": lambda amount: Produce(100, amount.produced_bytes, "records_per_s", "rec/s", "≥1"),
    "consume_1k": lambda amount: Consume(_filling(1024, amount.consumed_bytes), "mb_per_s", "MB/s", "≥1"),
    "consume_100": lambda amount: Consume(_filling(100, amount.produced_bytes), "records_per_s", "rec/s", "≥1"),
    "requests_1x1": lambda amount: Requests(1, 1, amount.seconds, "≥1.1"),
    "requests_1x5": lambda amount: Requests(1, 5, amount.seconds, "≥2"),
    "requests_20x5": lambda amount: Requests(20, 5, amount.seconds, "≥1.3"),
    "latency": lambda amount: Latency(2 * amount.seconds, 1_000),
    "start": lambda _amount: Start(),
    "memory": lambda amount: Memory(_filling(1024, amount.through_bytes), amount.through),
    "topics": lambda amount: Topics(amount.topics),
}


def _filling(record_bytes: int, total_bytes: int) -> Produce:
    return Produce(record_bytes, total_bytes, "mb_per_s", "MB/s", "")


Samples = dict[str, list[Figures]]  # by side, in the order of the repetitions


def rows() -> list[Row]:
    return [row for name in SCENARIOS for row in rows_of(SCENARIOS[name](FULL), FULL.repetitions)]


def rows_of(scenario: Scenario, repetitions: int, sides: Mapping[str, type[BrokerProcess]] = SIDES) -> list[Row]:
    samples = sampled(scenario, sides, repetitions)
    ours, theirs = samples["moldau"], samples["kafka"]
    compared = [
        _row(figure.key, ours, theirs, figure.name, figure.unit, AGAINST, figure.bar) for figure in scenario.figures
    ]
    if scenario.reference:
        reference, figures = samples[REFERENCE], scenario.figures
        compared += [_row(each.key, ours, reference, each.name, each.unit, scenario.reference) for each in figures]
    return compared


def sampled(scenario: Scenario, sides: Mapping[str, type[BrokerProcess]], repetitions: int) -> Samples:
    """Measure each side in turn, so many times."""
    samples: Samples = {side: [] for side in sides}
    with ExitStack() as stack:
        brokers = {} if scenario.fresh else {side: stack.enter_context(kind()) for side, kind in sides.items()}
        for broker in brokers.values():
            scenario.prepare(broker)
            scenario.warm_up(broker)
        for _ in range(repetitions):
            for side, kind in sides.items():
                settle()
                if scenario.fresh:
                    with kind(started=False) as broker:
                        samples[side].append(scenario.measure(broker))
                else:
                    samples[side].append(_with_cpu(scenario, brokers[side]))
            if scenario.reference:
                samples.setdefault(REFERENCE, []).append(scenario.measure_reference())
    return samples


def _with_cpu(scenario: Scenario, broker: BrokerProcess) -> Figures:
    before_s = broker.cpu_s()
    figures = scenario.measure(broker)
    return {**figures, CPU.key: broker.cpu_s() - before_s}


def _row(
    key: str, ours: list[Figures], theirs: list[Figures], name: str, unit: str, against: str, bar: str = ""
) -> Row:
    mine, others = ([figures[key] for figures in side] for side in (ours, theirs))
    return paired_row(name, mine, others, unit, against, bar)


def alone(scenario: Scenario, side: str, kind: type[BrokerProcess], repetitions: int) -> str:
    """The figures of one side, as lines, and what it cost: the figure to go by where others use the machine too."""
    samples = sampled(scenario, {side: kind}, repetitions)[side]
    lines = []
    for figure in scenario.figures if scenario.fresh else (*scenario.figures, CPU):
        values = [figures[figure.key] for figures in samples]
        listed = ", ".join(f"{value:,.4g}" for value in values)
        lines.append(f"{figure.name}: {statistics.median(values):,.4g} {figure.unit} ({listed})")
    return "\n".join(lines)


def main(
    arguments: Sequence[str],
    scenarios: Mapping[str, Callable[[Amount], Scenario]] = SCENARIOS,
    program: str = "python -m bench.bench_broker",
    sides: Mapping[str, type[BrokerProcess]] = SIDES,
) -> int:
    parser = argparse.ArgumentParser(prog=program, description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("scenario", nargs="*", choices=[[], *scenarios], help="which to run; all if none is named")
    parser.add_argument("--quick", action="store_true", help="less data and one repetition: to see where one stands")
    parser.add_argument("--only", choices=sides, help="measure this side alone")
    parser.add_argument("--repetitions", type=int, help="how often each side is measured")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))  # so that no broker stays behind
    amount = QUICK if options.quick else FULL
    repetitions = options.repetitions or amount.repetitions
    missed = 0
    for name in options.scenario or scenarios:
        scenario = scenarios[name](amount)
        if options.only:
            print(alone(scenario, options.only, sides[options.only], repetitions), flush=True)
        else:
            compared = rows_of(scenario, repetitions, sides)
            missed += sum(row.met is False for row in compared)
            print(f"{table(compared)}\n", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
