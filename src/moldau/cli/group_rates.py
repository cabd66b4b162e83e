"""`moldau groups rate`: two looks at a group, and what happened between them.

What was read is the committed offset's way, what was written the log end offset's: both by partition, per second.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass

from moldau.base.clock import SystemClock
from moldau.cli.cluster_sample import end_offsets, rate
from moldau.cli.group_details import committed_of, description_of
from moldau.cli.kafka.connecting import Connection
from moldau.cli.terminal.tables import Column, alarming, count, print_rows
from moldau.clients.records import TopicPartition

COLUMNS = (
    Column("topic", "TOPIC"),
    Column("partition", "PARTITION", count),
    Column("read_per_second", "READ/S", count),
    Column("written_per_second", "WRITTEN/S", count),
    Column("lag", "LAG", count, alarming()),
)


@dataclass(frozen=True, slots=True)
class Look:
    at_ms: float
    committed: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]


def rates(before: Look, after: Look) -> list[dict[str, object]]:
    seconds = (after.at_ms - before.at_ms) / 1000
    rows: list[dict[str, object]] = []
    for partition, offset in sorted(after.committed.items()):
        end = after.ends.get(partition)
        rows.append(
            {
                "topic": partition.topic,
                "partition": partition.partition,
                "read_per_second": rate(before.committed.get(partition), offset, seconds),
                "written_per_second": rate(before.ends.get(partition), end, seconds),
                "lag": None if end is None else max(0, end - offset),
            }
        )
    return rows


async def watch(connection: Connection, group: str, interval_s: float, looks: int, *, as_json: bool) -> int:
    await description_of(connection, group)
    before = await _look(connection, group)
    for number in range(looks):
        await asyncio.sleep(interval_s)
        after = await _look(connection, group)
        rows = rates(before, after)
        if as_json:
            print(json.dumps({"group": group, "seconds": interval_s, "partitions": rows}), flush=True)
        else:
            print("\n" * (number > 0), end="")
            print_rows(rows, COLUMNS, title=f"{group}, over {interval_s:g} s")
        before = after
    return 0


async def _look(connection: Connection, group: str) -> Look:
    committed = await committed_of(connection, group)
    return Look(SystemClock().monotonic_ms(), committed, await end_offsets(connection, committed))
