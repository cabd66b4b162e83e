"""How far `kafka-consumer-perf-test` has come: records, bytes, and the time that rebalances took."""

from __future__ import annotations

import re
from datetime import datetime

from moldau.base.clock import Clock
from moldau.clients.consumer.listener import RebalanceListener

MEGABYTE = 1024 * 1024
_DIRECTIVES = {"yyyy": "%Y", "yy": "%y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}


class Progress(RebalanceListener):
    """Counts, in all and since the last report."""

    def __init__(self, date_format: str, clock: Clock) -> None:
        self.records = self.bytes = 0
        self.joining_ms = 0.0
        self._clock = clock
        self._format = date_format
        self.started_ms = self._joined_from_ms = clock.monotonic_ms()
        self.started_at_ms = clock.now_ms()
        self._last = (0, 0, self.started_ms, 0.0)

    def on_partitions_revoked(self, _partitions: object) -> None:
        self._joined_from_ms = self._clock.monotonic_ms()

    def on_partitions_assigned(self, _partitions: object) -> None:
        self.joining_ms += self._clock.monotonic_ms() - self._joined_from_ms

    def report(self) -> None:
        """The interval that ends now."""
        now_ms = self._clock.monotonic_ms()
        records, size, since_ms, joining_ms = self._last
        numbers = _numbers(
            self.bytes,
            self.bytes - size,
            self.records,
            self.records - records,
            now_ms - since_ms,
            self.joining_ms - joining_ms,
        )
        print(f"{formatted(self._clock.now_ms(), self._format)}, 0, {numbers}", flush=True)
        self._last = (self.records, self.bytes, now_ms, self.joining_ms)

    def is_due(self, interval_ms: int) -> bool:
        return self._clock.monotonic_ms() - self._last[2] >= interval_ms

    def total(self, *, with_new_columns: bool) -> str:
        elapsed_ms = self._clock.monotonic_ms() - self.started_ms
        numbers = _numbers(self.bytes, self.bytes, self.records, self.records, elapsed_ms, self.joining_ms)
        if not with_new_columns:
            numbers = ", ".join(numbers.split(", ")[:4])
        times = (formatted(each, self._format) for each in (self.started_at_ms, self._clock.now_ms()))
        return f"{', '.join(times)}, {numbers}"


def _numbers(size: int, new_size: int, records: int, new_records: int, elapsed_ms: float, joining_ms: float) -> str:
    seconds = max(elapsed_ms, 1.0) / 1000
    fetching_s = max(elapsed_ms - joining_ms, 1.0) / 1000
    read = f"{size / MEGABYTE:.4f}, {new_size / MEGABYTE / seconds:.4f}, {records}, {new_records / seconds:.4f}"
    times = f"{joining_ms:.0f}, {fetching_s * 1000:.0f}"
    return f"{read}, {times}, {new_size / MEGABYTE / fetching_s:.4f}, {new_records / fetching_s:.4f}"


def formatted(now_ms: int, pattern: str) -> str:
    """A time in the letters of java.text.SimpleDateFormat, as far as they are numbers."""
    moment = datetime.fromtimestamp(now_ms / 1000)
    return re.sub(
        r"yyyy|yy|MM|dd|HH|mm|ss|SSS",
        lambda found: f"{now_ms % 1000:03d}" if found[0] == "SSS" else moment.strftime(_DIRECTIVES[found[0]]),
        pattern,
    )
