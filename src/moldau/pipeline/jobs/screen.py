"""Progress for the person who looks: a table that is kept up to date on a terminal, lines in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol, TextIO

from moldau.base.clock import Clock, SystemClock
from moldau.pipeline.jobs.progress import Report

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

LINE_EVERY_MS: Final = 1000.0


class Screen(Protocol):
    def show(self, reports: Sequence[Report]) -> None:
        """Tell of batches that have ended."""
        ...

    def say(self, text: str) -> None:
        """Print a line."""
        ...

    def close(self) -> None: ...


class Lines:
    """A line for each query and second at most; the batches between two are added up."""

    def __init__(self, output: TextIO, clock: Clock) -> None:
        self._output = output
        self._clock = clock
        self._shown_ms: dict[str, float] = {}
        self._waiting: dict[str, list[Report]] = {}

    def show(self, reports: Sequence[Report]) -> None:
        for report in reports:
            self._waiting.setdefault(report.query, []).append(report)
        now_ms = self._clock.monotonic_ms()
        for query, waiting in list(self._waiting.items()):
            if now_ms - self._shown_ms.get(query, -LINE_EVERY_MS) >= LINE_EVERY_MS:
                self._shown_ms[query] = now_ms
                self._print(self._waiting.pop(query, waiting))

    def say(self, text: str) -> None:
        print(text, file=self._output, flush=True)

    def close(self) -> None:
        for waiting in self._waiting.values():
            self._print(waiting)
        self._waiting.clear()

    def _print(self, reports: Sequence[Report]) -> None:
        self.say(added_up(reports).line())


class Terminal:
    """A table with a row for each query, drawn in place."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._latest: dict[str, Report] = {}
        self._rows: dict[str, int] = {}
        self._console = Console()
        self._live: Live = Live(self._table(), console=self._console, auto_refresh=False)
        self._started = False

    def show(self, reports: Sequence[Report]) -> None:
        for report in reports:
            self._latest[report.query] = report
            self._rows[report.query] = self._rows.get(report.query, 0) + report.rows
        if not self._latest:
            return
        if not self._started:
            self._started = True
            self._live.start()
        if reports:
            self._live.update(self._table(), refresh=True)

    def say(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False)

    def close(self) -> None:
        if self._started:
            self._live.stop()

    def _table(self) -> Table:
        from rich.table import Table

        table = Table(box=None, pad_edge=False)
        table.add_column("query")
        for name in ("batch", "rows", "rows/s", "batch time", "lag"):
            table.add_column(name, justify="right")
        table.add_column("watermark")
        for query, report in self._latest.items():
            table.add_row(
                query,
                str(report.batch),
                f"{self._rows[query]:,}",
                f"{report.rows_per_s:,.0f}",
                f"{report.batch_ms:,} ms",
                "-" if report.lag is None else f"{report.lag:,}",
                report.watermark or "-",
            )
        return table


def added_up(reports: Sequence[Report]) -> Report:
    """Several batches of one query as one."""
    last = reports[-1]
    rows, total_ms = sum(each.rows for each in reports), sum(each.batch_ms for each in reports)
    rate = rows * 1000 / total_ms if total_ms else 0.0
    return Report(last.query, last.batch, rows, rate, last.batch_ms, last.lag, last.watermark)


def screen_for(output: TextIO = sys.stdout, *, plain: bool = False) -> Screen:
    """What fits where the output goes."""
    return Lines(output, SystemClock()) if plain or not output.isatty() else Terminal()
