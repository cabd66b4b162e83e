"""Progress: what Spark reports of a batch, in numbers for people."""

from __future__ import annotations

import io
from typing import Any

from moldau.base.clock import VirtualClock
from moldau.pipeline.jobs.progress import Report, lag_of, new_reports, report_of
from moldau.pipeline.jobs.screen import Lines


def progress(batch: int, rows: int = 100, took_ms: int = 50, **more: Any) -> dict[str, Any]:
    return {
        "batchId": batch,
        "numInputRows": rows,
        "batchDuration": took_ms,
        "durationMs": {"addBatch": took_ms},
        "sources": [{"endOffset": '{"t":{"0":5,"1":7}}', "latestOffset": '{"t":{"0":9,"1":7,"2":3}}'}],
        **more,
    }


def test_a_batch_is_reported_in_rates_and_lag() -> None:
    seen = report_of("q", progress(3, eventTime={"watermark": "2026-01-31T12:00:00.000Z"}))
    assert seen == Report("q", 3, 100, 2000.0, 50, 7, "2026-01-31T12:00:00.000Z")
    assert seen.line() == "q  batch 3  100 rows  2,000 rows/s  50 ms  lag 7  watermark 2026-01-31T12:00:00.000Z"


def test_a_source_without_topics_has_no_lag() -> None:
    assert lag_of({"endOffset": "12", "latestOffset": "14"}) is None
    assert lag_of({"endOffset": {"n": 4}, "latestOffset": {"n": 8}}) is None
    assert lag_of({"endOffset": "{", "latestOffset": None}) is None
    assert report_of("q", progress(0, sources=[{}])).line().endswith("lag -")


def test_a_watermark_that_has_not_begun_is_none() -> None:
    assert report_of("q", progress(0, eventTime={"watermark": "1970-01-01T00:00:00.000Z"})).watermark is None


def test_each_batch_is_reported_once_and_triggers_without_one_not_at_all() -> None:
    idle = {**progress(5), "durationMs": {"latestOffset": 3}}
    found = new_reports("q", 2, [progress(2), progress(3), progress(3, rows=7), progress(4), idle])
    assert [(each.batch, each.rows) for each in found] == [(3, 7), (4, 100)]


def test_a_pipe_gets_a_line_a_second_in_which_batches_are_added_up() -> None:
    clock, output = VirtualClock(), io.StringIO()
    lines = Lines(output, clock)
    for batch in range(5):
        lines.show([report_of("q", progress(batch))])
        clock.advance(400)
    lines.close()
    assert output.getvalue().splitlines() == [
        "q  batch 0  100 rows  2,000 rows/s  50 ms  lag 7",
        "q  batch 3  300 rows  2,000 rows/s  50 ms  lag 7",
        "q  batch 4  100 rows  2,000 rows/s  50 ms  lag 7",
    ]
