"""What a scenario of the broker's bench is: a load on one broker, the figures it yields, and the bar for each.

A scenario measures one broker once; who is measured, how often and in which order is `bench_broker`'s matter.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

from bench.bench_broker_process import BrokerProcess
from bench.load.program import Figures


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table: which figure of a scenario it is, and what our ratio to Kafka's should be."""

    key: str
    name: str
    unit: str
    bar: str = ""


class Scenario:
    """A load on a broker that runs and is warm; or, if `fresh`, on one that is about to start for the first time."""

    figures: tuple[Figure, ...]
    fresh: ClassVar[bool] = False
    reference: ClassVar[str] = ""  # a third party that can do the same without a broker

    def prepare(self, broker: BrokerProcess) -> None:
        """What has to be there before it can be measured; not counted."""

    def measure(self, broker: BrokerProcess) -> Figures:
        raise NotImplementedError

    def measure_reference(self) -> Figures:
        raise NotImplementedError

    def warm_up(self, broker: BrokerProcess) -> None:
        """The load itself, until the broker has had its time: a JVM compiles what it has seen often."""
        deadline = time.monotonic() + broker.warm_up_s
        while time.monotonic() < deadline:
            self.measure(broker)
