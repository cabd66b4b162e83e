"""The figures of RESULTS.md for people: a picture of all that was measured beside Apache Kafka, and README's table.

`python -m bench.picture` draws `docs/benchmarks.svg` and writes the figures of today into the rows of README's table.
To the right is better: a rate counts as ours to theirs, what should be small (a time, memory) as theirs to ours.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "RESULTS.md"
PICTURE = ROOT / "docs" / "benchmarks.svg"
README = ROOT / "README.md"
README_HEADER = "| what | ours | theirs | against | ratio |"
KAFKA = "Apache Kafka"
SECTIONS = {"broker": "One broker", "coordinators": "Groups and transactions", "cluster": "Three brokers"}

WIDTH, MARGIN, ROW, BAR, HEAD = 980, 16, 19, 11, 70
BARS_FROM, BARS_TO, FIGURES_TO = 384, 740, WIDTH - MARGIN
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
INK, FAINT, PAPER, EDGE, BETTER, WORSE = "#1f2328", "#59636e", "#ffffff", "#d1d9e0", "#1a7f64", "#bc4c00"
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


@dataclass(frozen=True, slots=True)
class Result:
    """A row of a table; `ratio` is ours to theirs."""

    section: str
    name: str
    ours: str
    theirs: str
    against: str
    ratio: float

    @property
    def gain(self) -> float:
        """How many times better ours is."""
        return self.ratio if self.ours.endswith("/s") else 1 / self.ratio

    @property
    def label(self) -> str:
        """The name without remarks on how it was measured."""
        return re.sub(r" \([^)]*\)$", "", self.name)


def results_of(text: str) -> list[Result]:
    """The rows of all tables that have ours, theirs and a ratio."""
    return [
        Result(
            section,
            row["what"],
            readable(row["ours"]),
            readable(row["theirs"]),
            row.get("against", f"{KAFKA} 4.3.0"),
            float(row["ratio"]),
        )
        for section, row in _rows(text)
        if {"what", "ours", "theirs", "ratio"} <= row.keys() and float(row["ratio"]) > 0
    ]


def _rows(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    section, columns = "", list[str]()
    for line in text.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ").strip()
        if not line.startswith("|"):
            columns = []
            continue
        cells = _cells(line)
        if not columns:
            columns = cells
        elif not set(line) <= set("|-: "):
            yield section, dict(zip(columns, cells, strict=True))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def readable(figure: str) -> str:
    """`1.246e+06 rec/s` as `1,246,000 rec/s`."""
    number, _, unit = figure.partition(" ")
    return f"{float(number):,.0f} {unit}" if "e+" in number else figure


def beside_kafka(results: Sequence[Result]) -> dict[str, list[Result]]:
    """What was measured beside Apache Kafka, by section."""
    return {
        title: found
        for section, title in SECTIONS.items()
        if (found := [each for each in results if each.section == section and each.against.startswith(KAFKA)])
    }


@dataclass(frozen=True, slots=True)
class Axis:
    """Gains on a logarithmic scale, from one tick to another."""

    least: float
    most: float

    @classmethod
    def over(cls, gains: Sequence[float]) -> Axis:
        least, most = min([*gains, 0.5]), max([*gains, 2])
        return cls(max(tick for tick in TICKS if tick <= least), min(tick for tick in TICKS if tick >= most))

    @property
    def ticks(self) -> list[float]:
        return [tick for tick in TICKS if self.least <= tick <= self.most]

    def x(self, gain: float) -> float:
        share = math.log(gain / self.least) / math.log(self.most / self.least)
        return BARS_FROM + share * (BARS_TO - BARS_FROM)


def draw(results: Sequence[Result]) -> str:
    """The picture: a paper of its own, so that it can be read on a light page and on a dark one."""
    groups = beside_kafka(results)
    axis = Axis.over([each.gain for group in groups.values() for each in group])
    height = HEAD + sum(ROW * (len(group) + 1.6) for group in groups.values()) + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}"'
        f' height="{height:.0f}" role="img" font-family="{escape(FONT)}" font-size="12" fill="{INK}">',
        "<title>Moldau beside Apache Kafka on the same machine: how many times as good, on a logarithmic scale</title>",
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1:.0f}" rx="8" fill="{PAPER}" stroke="{EDGE}"/>',
        _text(MARGIN, 28, "Moldau beside Apache Kafka", size=15, weight=600),
        _text(MARGIN, 46, "same machine, same client; 2 × is twice the rate,", color=FAINT, size=11),
        _text(MARGIN, 60, "or half the time or memory", color=FAINT, size=11),
        _text(FIGURES_TO, 28, "Moldau : Apache Kafka", color=FAINT, anchor="end"),
        *_grid(axis, height),
    ]
    y = float(HEAD)
    for title, group in groups.items():
        y += ROW * 1.2
        parts.append(_text(MARGIN, y, title, weight=600))
        for result in group:
            y += ROW
            parts += _bar(axis, result, y)
        y += ROW * 0.4
    return "\n".join([*parts, "</svg>", ""])


def _grid(axis: Axis, height: float) -> Iterator[str]:
    bottom = height - MARGIN
    for tick in axis.ticks:
        x, color, wide = axis.x(tick), INK if tick == 1 else EDGE, 1.5 if tick == 1 else 1
        yield f'<path d="M{x:.1f} {HEAD - 4}V{bottom:.0f}" stroke="{color}" stroke-width="{wide}"/>'
        yield _text(x, HEAD - 9, "the same" if tick == 1 else f"{tick:g} ×", color=FAINT, anchor="middle", size=11)
    yield _text(axis.x(1) + 8, 28, "better →", color=BETTER, weight=600)


def _bar(axis: Axis, result: Result, y: float) -> Iterator[str]:
    start, end = sorted((axis.x(1), axis.x(result.gain)))
    color = BETTER if result.gain >= 1 else WORSE
    yield _text(MARGIN, y, result.label)
    yield f'<rect x="{start:.1f}" y="{y - BAR + 1:.1f}" width="{end - start:.1f}" height="{BAR}" fill="{color}"/>'
    beside, anchor = (end + 5, "start") if result.gain >= 1 else (start - 5, "end")
    yield _text(beside, y, f"{result.gain:.2f} ×", color=color, weight=600, anchor=anchor, size=11)
    yield _text(FIGURES_TO, y, _both(result), color=FAINT, anchor="end", size=11)


def _both(result: Result) -> str:
    (ours, unit), (theirs, other) = _split(result.ours), _split(result.theirs)
    return f"{ours} : {theirs} {unit}" if unit == other else f"{result.ours} : {result.theirs}"


def _split(figure: str) -> tuple[str, str]:
    number, _, unit = figure.partition(" ")
    return number, unit


def _text(
    x: float, y: float, text: str, *, color: str = "", anchor: str = "", size: int | None = None, weight: int = 0
) -> str:
    given = {"fill": color, "text-anchor": anchor, "font-size": size, "font-weight": weight}
    attributes = "".join(f' {name}="{value}"' for name, value in given.items() if value)
    return f'<text x="{x:.1f}" y="{y:.1f}"{attributes}>{escape(text)}</text>'


def with_figures(text: str, results: Sequence[Result]) -> str:
    """README with the figures of the results in the rows that its table has; a row that is not measured is an error."""
    known = {(each.label, each.against): each for each in reversed(results)}
    lines, in_table = [], False
    for line in text.splitlines():
        in_table = line == README_HEADER or (in_table and line.startswith("|"))
        if in_table and line != README_HEADER and not line.startswith("|---"):
            name, _, _, against, _ = _cells(line)
            if (name, against) not in known:
                raise KeyError(f"README has a row {name!r} against {against!r}, which RESULTS.md has not")
            found = known[name, against]
            line = f"| {name} | {found.ours} | {found.theirs} | {against} | {found.ratio:.2f} |"
        lines.append(line)
    return "\n".join([*lines, ""])


def main() -> int:
    results = results_of(RESULTS.read_text(encoding="utf-8"))
    try:
        readme = with_figures(README.read_text(encoding="utf-8"), results)
    except KeyError as error:
        print(error.args[0], file=sys.stderr)
        return 1
    README.write_text(readme, encoding="utf-8")
    PICTURE.write_text(draw(results), encoding="utf-8")
    print(f"{PICTURE.relative_to(ROOT)} and the table of {README.name} have the figures of {RESULTS.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
