"""What `moldau top` shows: the frame made of two looks at a cluster, and how it is drawn."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any, TypedDict

from moldau.cli.cluster_sample import ClusterNow, cluster_now, rate
from moldau.cli.kafka.connecting import Connection
from moldau.cli.terminal.tables import Column, alarming, count, is_terminal, plain_table, printable, rich_table
from moldau.clients.records import TopicPartition

TOPIC_COLUMNS = (
    Column("topic", "TOPIC"),
    Column("partitions", "PARTITIONS", count),
    Column("end", "END", count),
    Column("written_per_second", "WRITTEN/S", count),
    Column("under_replicated", "UNDER-REPLICATED", count, alarming()),
    Column("without_leader", "WITHOUT-LEADER", count, alarming()),
)
GROUP_COLUMNS = (
    Column("group", "GROUP"),
    Column("state", "STATE", style=lambda state: "green" if state == "Stable" else "yellow"),
    Column("members", "MEMBERS", count),
    Column("read_per_second", "READ/S", count),
    Column("lag", "LAG", count, alarming()),
)
BROKER_COLUMNS = (
    Column("broker", "BROKER"),
    Column("address", "ADDRESS"),
    Column("leads", "LEADS", count),
    Column("in_sync", "IN-SYNC", count),
    Column("replicas", "REPLICAS", count),
    Column("controller", "CONTROLLER", lambda value: "*" if value else ""),
)


class Frame(TypedDict):
    """What there is to see; the busiest come first."""

    cluster: str | None
    seconds: float
    written_per_second: float
    brokers: list[dict[str, Any]]
    topics: list[dict[str, Any]]
    groups: list[dict[str, Any]]


def frame(before: ClusterNow, after: ClusterNow) -> Frame:
    seconds = (after.at_ms - before.at_ms) / 1000
    topics = _topics(before, after, seconds)
    return Frame(
        cluster=after.cluster.cluster_id,
        seconds=round(seconds, 3),
        written_per_second=round(sum(each["written_per_second"] for each in topics), 1),
        brokers=_brokers(after),
        topics=topics,
        groups=_groups(before, after, seconds),
    )


def _brokers(now: ClusterNow) -> list[dict[str, Any]]:
    infos = [info for topic in now.topics for info in topic.partitions]
    controller = now.cluster.controller
    return [
        {
            "broker": node.id,
            "address": f"{node.host}:{node.port}",
            "leads": sum(info.leader == node.id for info in infos),
            "in_sync": sum(node.id in info.isr for info in infos),
            "replicas": sum(node.id in info.replicas for info in infos),
            "controller": controller is not None and controller.id == node.id,
        }
        for node in sorted(now.cluster.nodes)
    ]


def _topics(before: ClusterNow, after: ClusterNow, seconds: float) -> list[dict[str, Any]]:
    rows = []
    for topic in after.topics:
        partitions = [TopicPartition(topic.name, info.partition) for info in topic.partitions]
        known = [each for each in partitions if each in after.ends]
        rates = [rate(before.ends.get(each), after.ends[each], seconds) or 0.0 for each in known]
        rows.append(
            {
                "topic": topic.name,
                "partitions": len(partitions),
                "end": sum(after.ends[each] for each in known),
                "written_per_second": round(sum(rates), 1),
                "under_replicated": sum(len(info.isr) < len(info.replicas) for info in topic.partitions),
                "without_leader": sum(info.leader is None for info in topic.partitions),
            }
        )
    return sorted(rows, key=lambda row: (-row["written_per_second"], row["topic"]))


def _groups(before: ClusterNow, after: ClusterNow, seconds: float) -> list[dict[str, Any]]:
    earlier = {each.name: each.committed for each in before.groups}
    rows = []
    for group in after.groups:
        old = earlier.get(group.name, {})
        rates = [rate(old.get(each), offset, seconds) or 0.0 for each, offset in group.committed.items()]
        rows.append(
            {
                "group": group.name,
                "state": group.state,
                "members": group.members,
                "read_per_second": round(sum(rates), 1),
                "lag": group.lag,
            }
        )
    return sorted(rows, key=lambda row: (-row["lag"], row["group"]))


async def watch(connection: Connection, interval_s: float, rows: int, *, once: bool, as_json: bool) -> None:
    before = await cluster_now(connection)
    with _drawing(rows, as_json=as_json, moving=not once) as draw:
        while True:
            await asyncio.sleep(interval_s)
            after = await cluster_now(connection)
            draw(frame(before, after))
            before = after
            if once:
                return


@contextlib.contextmanager
def _drawing(rows: int, *, as_json: bool, moving: bool) -> Iterator[Callable[[Frame], None]]:
    """What shows a frame: in place on a terminal, one below the other elsewhere."""
    if as_json:
        yield lambda shown: print(json.dumps(shown), flush=True)
    elif not is_terminal():
        yield lambda shown: print(_plain(shown, rows), flush=True)
    else:
        from rich.console import Console, Group
        from rich.live import Live

        def drawn(shown: Frame) -> Group:
            return Group(_title(shown), *(rich_table(part, columns) for part, columns in _tables(shown, rows)))

        console = Console()
        if not moving:
            yield lambda shown: console.print(drawn(shown))
            return
        with Live("looking …", console=console, screen=True, auto_refresh=False) as live:
            yield lambda shown: live.update(drawn(shown), refresh=True)


def _plain(shown: Frame, rows: int) -> str:
    tables = [plain_table(part, columns) for part, columns in _tables(shown, rows)]
    return "\n\n".join([_title(shown), *tables]) + "\n"


def _title(shown: Frame) -> str:
    hidden = (
        f"cluster {printable(str(shown['cluster']))}: {len(shown['brokers'])} brokers, {len(shown['topics'])} topics"
    )
    return f"{hidden}, {len(shown['groups'])} groups, {shown['written_per_second']:,.1f} records written a second"


def _tables(shown: Frame, rows: int) -> Iterator[tuple[list[dict[str, Any]], tuple[Column, ...]]]:
    yield shown["brokers"][:rows], BROKER_COLUMNS
    yield shown["topics"][:rows], TOPIC_COLUMNS
    if shown["groups"]:
        yield shown["groups"][:rows], GROUP_COLUMNS
