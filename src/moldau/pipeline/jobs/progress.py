"""How a query is doing, out of what Spark reports of each batch: rows a second, time of a batch, lag, watermark."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Report:
    """One batch of one query. `lag` is None where a source does not say how far it could read."""

    query: str
    batch: int
    rows: int
    rows_per_s: float
    batch_ms: int
    lag: int | None
    watermark: str | None

    def line(self) -> str:
        """For a pipe or a file."""
        lag = "-" if self.lag is None else f"{self.lag:,}"
        watermark = "" if self.watermark is None else f"  watermark {self.watermark}"
        return (
            f"{self.query}  batch {self.batch}  {self.rows:,} rows  {self.rows_per_s:,.0f} rows/s  "
            f"{self.batch_ms:,} ms  lag {lag}{watermark}"
        )


def report_of(query: str, progress: Mapping[str, Any]) -> Report:
    """What Spark's progress, as JSON has it, says."""
    rows = int(progress.get("numInputRows") or 0)
    batch_ms = int(progress.get("batchDuration") or 0)
    lags = [lag_of(each) for each in progress.get("sources", ())]
    known = [each for each in lags if each is not None]
    watermark = (progress.get("eventTime") or {}).get("watermark")
    return Report(
        query,
        int(progress.get("batchId") or 0),
        rows,
        rows * 1000 / batch_ms if batch_ms else 0.0,
        batch_ms,
        sum(known) if known else None,
        None if watermark is None or watermark.startswith("1970-01-01") else watermark,
    )


def lag_of(source: Mapping[str, Any]) -> int | None:
    """How many records a source has not read yet, if its offsets are those of topics."""
    ends, latest = _offsets(source.get("endOffset")), _offsets(source.get("latestOffset"))
    if ends is None or latest is None:
        return None
    return sum(
        max(0, offset - ends.get(topic, {}).get(partition, 0))
        for topic, partitions in latest.items()
        for partition, offset in partitions.items()
    )


def _offsets(given: Any) -> dict[str, dict[str, int]] | None:
    """`{topic: {partition: offset}}`, or None if it is anything else."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            return None
    if not isinstance(given, dict) or not given:
        return None
    for partitions in given.values():
        if not isinstance(partitions, dict) or not all(type(each) is int for each in partitions.values()):
            return None
    return given


def new_reports(query: str, after: int, progresses: Sequence[Mapping[str, Any]]) -> list[Report]:
    """Reports of the batches behind one that is known; a batch that had to wait is told once."""
    found: dict[int, Report] = {}
    for progress in progresses:
        report = report_of(query, progress)
        if report.batch > after and "addBatch" in (progress.get("durationMs") or {}):
            found[report.batch] = report
    return [found[batch] for batch in sorted(found)]
