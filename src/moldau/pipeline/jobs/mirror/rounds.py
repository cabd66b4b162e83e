"""Rounds of a mirror: topics made, everything that is there copied exactly once, groups' offsets brought over."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as f

from moldau.base.clock import SystemClock
from moldau.base.errors import MoldauError
from moldau.clients.records import TopicPartition
from moldau.pipeline.jobs.definition import MOLDAU, Sink
from moldau.pipeline.jobs.failures import told_of
from moldau.pipeline.jobs.mirror.clusters import Clusters, Offsets
from moldau.pipeline.jobs.mirror.group_offsets import translate_groups
from moldau.pipeline.jobs.mirror.settings import MirrorSettings
from moldau.pipeline.jobs.mirror.sync_points import SyncFile, SyncPoints
from moldau.pipeline.jobs.progress import new_reports
from moldau.pipeline.jobs.running import LOOK_EVERY_S, query_failed, start_query
from moldau.pipeline.jobs.screen import Screen
from moldau.pipeline.jobs.session import is_local_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

IDLE_S: Final = 0.2
FAILED_S: Final = 5.0
SYNC_FILE: Final = "mirror-offsets.json"


@dataclass(slots=True)
class Mirror:
    """`translate_every_ms` is how often groups are looked at; `aborts` says whether a failure ends it."""

    settings: MirrorSettings
    clusters: Clusters
    spark: SparkSession
    checkpoint: str
    screen: Screen
    translate_every_ms: float
    aborts: bool = True
    stopping: threading.Event = field(default_factory=threading.Event)
    _points: SyncPoints = field(default_factory=SyncPoints)
    _seen: Offsets | None = None
    _starts: Offsets = field(default_factory=dict)
    _reached: int = -1

    def go(self, *, once: bool = False) -> None:
        """Round after round until it is told to stop; with `once` what is there now."""
        file = SyncFile(Path(self.checkpoint) / SYNC_FILE if is_local_path(self.checkpoint) else None)
        self._points = file.load()
        clock = SystemClock()
        translate_ms = clock.monotonic_ms()
        while not self.stopping.is_set():
            copied = self._attempt(once)
            if copied:
                file.save(self._points)
            if once or clock.monotonic_ms() >= translate_ms:
                translate_groups(self.clusters, self._points, self.settings.group)
                translate_ms = clock.monotonic_ms() + self.translate_every_ms
            if once:
                return
            if not copied:
                self.stopping.wait(IDLE_S)

    def _attempt(self, once: bool) -> bool:
        try:
            return self.round()
        except MoldauError as error:
            if self.aborts or once:
                raise
            self.screen.say(f"this round failed, the next begins in {FAILED_S:g} s: {error}")
            self._seen = None
            self.stopping.wait(FAILED_S)
            return False

    def round(self) -> bool:
        """Copy what is there now; whether there was anything new."""
        topics = self.clusters.topics()
        ends = self.clusters.source_ends(topics)
        if not topics or ends == self._seen:
            return False
        there = self.clusters.make_missing(topics)
        same = [name for name, count in topics.items() if there.get(name) == count]
        if not self._starts:
            self._starts = self._starting(topics, ends)
            if self._is_new():
                self._sync(self._starts, same)
        # What came after the start is read from its first record on.
        self._starts = self.clusters.source_starts(topics) | self._starts
        reached = self._copy(topics, same)
        self._seen = ends
        if reached and not self.stopping.is_set():
            self._sync(reached, same)
        return bool(reached)

    def _is_new(self) -> bool:
        """Whether this is known to be the first run, so that everything before the start is behind it."""
        return is_local_path(self.checkpoint) and not (Path(self._query_checkpoint) / "offsets").exists()

    @property
    def _query_checkpoint(self) -> str:
        return f"{self.checkpoint.rstrip('/')}/query"

    def _starting(self, topics: Mapping[str, int], ends: Offsets) -> Offsets:
        """Where the first run begins in each partition; a checkpoint comes before it."""
        earliest = self.clusters.source_starts(topics)
        begins = earliest if self.settings.reset == "earliest" else ends
        committed = self.clusters.committed()
        return {
            partition: max(earliest[partition], committed.get(partition, offset))
            for partition, offset in begins.items()
        }

    def _sync(self, reached: Offsets, same: list[str]) -> None:
        counts: dict[str, int] = {}
        for topic, number in reached:
            if topic in same:
                counts[topic] = max(counts.get(topic, 0), number + 1)
        for partition, end in self.clusters.target_ends(counts).items():
            if partition in reached:
                self._points.add(partition, reached[partition], end)

    def _copy(self, topics: Mapping[str, int], same: list[str]) -> Offsets:
        """One query over everything that is there; the offsets that it has reached, none if there was nothing."""
        starting: dict[str, dict[str, int]] = {}
        for (topic, number), offset in self._starts.items():
            starting.setdefault(topic, {})[str(number)] = offset
        options = self.settings.source_options() | {
            "subscribePattern": "|".join(re.escape(name) for name in sorted(topics)),
            "startingOffsets": json.dumps(starting),
        }
        with told_of("mirror"):
            table = self.spark.readStream.format(MOLDAU).options(**options).load()
        sink = Sink("mirror", "records", MOLDAU, self.settings.sink_options())
        query = start_query(copied(table, same), sink, self._query_checkpoint, once=True)
        try:
            return self._watch(query)
        finally:
            query.stop()

    def _watch(self, query: StreamingQuery) -> Offsets:
        while True:
            active = query.isActive
            progresses: list[Any] = [json.loads(each.json) for each in query.recentProgress]
            reports = new_reports("mirror", self._reached, progresses)
            self.screen.show(reports)
            self._reached = reports[-1].batch if reports else self._reached
            if not active:
                failure = query.exception()
                if failure is not None:
                    raise query_failed("mirror", failure) from failure
                return reached_offsets(progresses)
            if self.stopping.wait(LOOK_EVERY_S):
                return {}


def copied(table: DataFrame, same: list[str]) -> DataFrame:
    """Records as they are; without a partition where the target has another number of them: the key decides there."""
    kept = f.col("topic").isin(same) if same else f.lit(False)
    return table.select(
        f.col("topic"),
        f.when(kept, f.col("partition")).alias("partition"),
        f.col("key"),
        f.col("value"),
        # Spark is slow with arrays that are null.
        f.coalesce(f.col("headers"), f.array().cast("array<struct<key:string,value:binary>>")).alias("headers"),
        f.col("timestamp"),
    )


def reached_offsets(progresses: list[Mapping[str, Any]]) -> Offsets:
    """Where the last batch of a query ended."""
    found: Offsets = {}
    for progress in progresses:
        for source in progress.get("sources", ()):
            end = source.get("endOffset")
            offsets = json.loads(end) if isinstance(end, str) else end
            for topic, partitions in (offsets or {}).items():
                found |= {TopicPartition(topic, int(number)): int(offset) for number, offset in partitions.items()}
    return found
