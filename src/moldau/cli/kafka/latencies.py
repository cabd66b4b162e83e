"""How long records take: by window while they are written, and of all at the end.

Records of a batch are acknowledged together, so that one callback a batch is enough: it notes the time in the
producer's thread, and the numbers are made of it in the thread that sends, which alone touches them.
"""

from __future__ import annotations

from collections import deque

from moldau.base.clock import Clock
from moldau.clients.producer.batch import ProducerBatch
from moldau.clients.producer.futures import RecordFuture

WINDOW_MS = 5000
SAMPLES_MAX = 500_000
MEGABYTE = 1024 * 1024
PERCENTILES = (0.5, 0.95, 0.99, 0.999)


class _Sent:
    """The records of one batch: when each was sent, and how large they are together."""

    __slots__ = ("bytes", "first", "started_ms")

    def __init__(self, first: RecordFuture) -> None:
        self.first = first
        self.started_ms: list[float] = []
        self.bytes = 0


class _Window:
    """Numbers of a while."""

    def __init__(self, start_ms: float) -> None:
        self.start_ms = start_ms
        self.count = 0
        self.bytes = 0
        self.total_ms = 0.0
        self.max_ms = 0.0

    def add(self, sent: _Sent, now_ms: float) -> None:
        self.count += len(sent.started_ms)
        self.bytes += sent.bytes
        self.total_ms += len(sent.started_ms) * now_ms - sum(sent.started_ms)
        self.max_ms = max(self.max_ms, now_ms - sent.started_ms[0])

    def rates(self, now_ms: float) -> tuple[float, float]:
        """Records and megabytes a second."""
        seconds = max(now_ms - self.start_ms, 1.0) / 1000
        return self.count / seconds, self.bytes / seconds / MEGABYTE


class Latencies:
    """`sent` is told of each record; windows are printed as they end."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[ProducerBatch, _Sent] = {}
        self._done: deque[tuple[_Sent, float]] = deque()
        self._samples: list[float] = []
        self._all = _Window(clock.monotonic_ms())
        self._window = _Window(clock.monotonic_ms())
        self.failed = 0
        self.error: Exception | None = None

    def sent(self, future: RecordFuture, now_ms: float) -> None:
        sent = self._open.get(future.batch)
        if sent is None:
            sent = self._open[future.batch] = _Sent(future)
            future.add_done_callback(lambda _future: self._done.append((sent, self._clock.monotonic_ms())))
            self.settle()
        sent.started_ms.append(now_ms)
        sent.bytes += future.value_size

    def settle(self) -> None:
        """Count what has been acknowledged by now; print the window if its time is over."""
        while self._done:
            sent, now_ms = self._done.popleft()
            self._open.pop(sent.first.batch, None)
            if not sent.started_ms:  # acknowledged before its first record was noted: look again later
                self._done.append((sent, now_ms))
                return
            error = sent.first.exception(0)
            if error is not None:
                self.failed += len(sent.started_ms)
                self.error = error
                continue
            self._all.add(sent, now_ms)
            self._window.add(sent, now_ms)
            every = 1 if len(self._samples) < SAMPLES_MAX else 10
            self._samples += [now_ms - started_ms for started_ms in sent.started_ms[::every]]
            if now_ms - self._window.start_ms >= WINDOW_MS:
                self._print_window(now_ms)
                self._window = _Window(now_ms)

    def _print_window(self, now_ms: float) -> None:
        window = self._window
        records, megabytes = window.rates(now_ms)
        print(
            f"{window.count} records sent, {records:.1f} records/sec ({megabytes:.2f} MB/sec), "
            f"{window.total_ms / max(window.count, 1):.1f} ms avg latency, {window.max_ms:.1f} ms max latency.",
            flush=True,
        )

    def print_total(self) -> None:
        window = self._all
        records, megabytes = window.rates(self._clock.monotonic_ms())
        samples = sorted(self._samples) or [0.0]
        found = [samples[min(int(each * len(samples)), len(samples) - 1)] for each in PERCENTILES]
        listed = ", ".join(
            f"{value:.0f} ms {name}" for value, name in zip(found, ("50th", "95th", "99th", "99.9th"), strict=True)
        )
        print(
            f"{window.count} records sent, {records:f} records/sec ({megabytes:.2f} MB/sec), "
            f"{window.total_ms / max(window.count, 1):.2f} ms avg latency, {window.max_ms:.2f} ms max latency, "
            f"{listed}."
        )
