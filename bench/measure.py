"""How benches measure: alternating repetitions of what is compared, medians, ratios, and a bar to reach.

The machine is shared and noisy, so the two sides of a ratio always run in turn within the same seconds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

REPETITIONS = 9
SLICE_S = 0.05  # how long one repetition runs at least


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison: our figure, theirs, their ratio, and what the ratio should be."""

    name: str
    ours: float
    theirs: float
    unit: str
    against: str
    bar: str = ""
    paired_ratio: float | None = None  # where neighbouring runs were compared, and their median taken

    @property
    def ratio(self) -> float:
        if self.paired_ratio is not None:
            return self.paired_ratio
        return self.ours / self.theirs if self.theirs else 0.0

    @property
    def met(self) -> bool | None:
        """Whether the ratio reaches its bar; None where there is none."""
        if not self.bar:
            return None
        sign, number = self.bar[0], float(self.bar[1:])
        return self.ratio <= number if sign == "≤" else self.ratio >= number


def paired_row(name: str, ours: list[float], theirs: list[float], unit: str, against: str, bar: str = "") -> Row:
    """Medians, and the median of the ratios of neighbouring runs: what else the machine does changes more slowly."""
    ratio = statistics.median(one / other for one, other in zip(ours, theirs, strict=True))
    return Row(name, statistics.median(ours), statistics.median(theirs), unit, against, bar, ratio)


def seconds_per_call(function: Callable[[], object], slice_s: float = SLICE_S) -> float:
    """The time of one call, from as many as fit in a slice of time."""
    count = 1
    while True:
        started = time.perf_counter()
        for _ in range(count):
            function()
        took = time.perf_counter() - started
        if took >= slice_s:
            return took / count
        count = max(count * 2, int(count * slice_s / max(took, 1e-9)))


def compare(ours: Callable[[], object], *theirs: Callable[[], object]) -> list[float]:
    """Median seconds per call of each, measured in turn."""
    functions = (ours, *theirs)
    for function in functions:
        function()
    samples: list[list[float]] = [[] for _ in functions]
    for _ in range(REPETITIONS):
        for index, function in enumerate(functions):
            samples[index].append(seconds_per_call(function))
    return [statistics.median(sample) for sample in samples]


def table(rows: list[Row]) -> str:
    """Rows as a table of Markdown."""
    lines = ["| what | ours | theirs | against | ratio | bar | met |", "|---|---:|---:|---|---:|---|---|"]
    for row in rows:
        met = {True: "yes", False: "NO", None: ""}[row.met]
        lines.append(
            f"| {row.name} | {row.ours:,.4g} {row.unit} | {row.theirs:,.4g} {row.unit} | {row.against} "
            f"| {row.ratio:.2f} | {row.bar} | {met} |"
        )
    return "\n".join(lines)
