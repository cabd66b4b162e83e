"""What `moldau produce` does: send, at a rate if one is wanted, and count what became of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from threading import Event

from moldau.base.clock import SystemClock
from moldau.cli.kafka.failures import text_of
from moldau.cli.record_lines import Headers, NewRecord
from moldau.cli.terminal.progress import progress
from moldau.cli.terminal.tables import print_json, size
from moldau.clients.producer.plain import Producer
from moldau.clients.records import RecordMetadata

AHEAD_MS = 2.0
ERRORS_TOLD_MAX = 3


class Writing:
    """`sent` records were acknowledged, `failed` were not."""

    def __init__(
        self, topic: str, key: bytes | None, headers: Headers, partition: int | None, rate: float | None
    ) -> None:
        self.sent = 0
        self.failed = 0
        self._bytes = 0
        self._seconds = 0.0
        self._partitions: set[int] = set()
        self._topic = topic
        self._key = key
        self._headers = headers
        self._partition = partition
        self._rate = rate

    def write(self, settings: dict[str, object], records: Iterator[NewRecord], input_bytes: int | None) -> None:
        clock = SystemClock()
        never = Event()
        started_ms = clock.monotonic_ms()
        with Producer(settings) as producer, progress(f"writing to {self._topic}", input_bytes) as advance:
            for number, record in enumerate(records, 1):
                partition = record.partition if self._partition is None else self._partition
                producer.send(
                    self._topic,
                    record.value,
                    record.key if self._key is None else self._key,
                    [*record.headers, *self._headers] or None,
                    partition=partition,
                    timestamp=record.timestamp,
                    on_delivery=self._delivered,
                )
                self._bytes += len(record.value or b"")
                advance(record.input_bytes)
                if self._rate is not None:
                    ahead_ms = number * 1000 / self._rate - (clock.monotonic_ms() - started_ms)
                    if ahead_ms > AHEAD_MS:
                        never.wait(ahead_ms / 1000)
        self._seconds = (clock.monotonic_ms() - started_ms) / 1000

    def _delivered(self, metadata: RecordMetadata | None, error: Exception | None) -> None:
        if metadata is not None:
            self.sent += 1
            self._partitions.add(metadata.partition)
            return
        self.failed += 1
        if error is not None and self.failed <= ERRORS_TOLD_MAX:
            print(f"moldau: a record was not written: {text_of(error)}", file=sys.stderr)

    def report(self, *, as_json: bool) -> None:
        if as_json:
            print_json(
                {
                    "topic": self._topic,
                    "records": self.sent,
                    "failed": self.failed,
                    "bytes": self._bytes,
                    "partitions": sorted(self._partitions),
                    "seconds": round(self._seconds, 3),
                }
            )
            return
        rate = self.sent / self._seconds if self._seconds else 0.0
        where = f"{len(self._partitions)} partition{'' if len(self._partitions) == 1 else 's'} of {self._topic}"
        print(f"{self.sent:,} records ({size(self._bytes)}) to {where}, {rate:,.0f} a second")
        if self.failed:
            print(f"moldau: {self.failed:,} records were not written", file=sys.stderr)
