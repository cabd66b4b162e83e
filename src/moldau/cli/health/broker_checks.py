"""Brokers: do they answer, how soon, what do they speak, and how full are their disks."""

from __future__ import annotations

import statistics
from collections.abc import AsyncIterator

from moldau.base.clock import SystemClock
from moldau.base.errors import MoldauError
from moldau.cli.cluster_sample import ASKING_S, ClusterNow
from moldau.cli.health.finding import Finding, bad, good, warning
from moldau.cli.kafka.connecting import Connection, check_reachable
from moldau.cli.kafka.failures import ToolFailed, text_of
from moldau.cli.terminal.tables import size
from moldau.clients.admin.cluster_operations import ClusterOperations
from moldau.clients.admin.log_dirs import LogDirDescription, LogDirOperations
from moldau.protocol.api import ApiKey, request_class

ANSWERS = 5
SLOW_MS = 200.0
FULL = 0.05
# What every client needs, whatever else it does.
NEEDED = ("Produce", "Fetch", "ListOffsets", "Metadata", "FindCoordinator", "JoinGroup", "OffsetCommit", "ApiVersions")


async def check_brokers(connection: Connection, now: ClusterNow) -> AsyncIterator[Finding]:
    nodes = sorted(now.cluster.nodes)
    silent = []
    for node in nodes:
        host = f"[{node.host}]" if ":" in node.host else node.host
        try:
            check_reachable(f"{host}:{node.port}")
        except ToolFailed:
            silent.append(node)
    for node in silent:
        yield bad("brokers", f"broker {node} is registered and cannot be reached", "start it, or mend the network")
    replicas = {each for topic in now.topics for info in topic.partitions for each in info.replicas}
    if gone := sorted(replicas - {node.id for node in nodes}):
        listed = ", ".join(map(str, gone))
        yield bad(
            "brokers", f"broker {listed} has replicas and is not in the cluster", "start it, or move its replicas"
        )
    if not silent and not gone:
        yield good("brokers", f"{len(nodes)} in the cluster, all can be reached")
    if now.cluster.controller is None:
        yield bad("brokers", "there is no controller", "restart a broker; nothing can be created or elected meanwhile")
    else:
        yield good("brokers", f"the controller is broker {now.cluster.controller.id}")
    yield await _answer_time(connection)


async def _answer_time(connection: Connection) -> Finding:
    """How soon a small question is answered: what a client sees of a broker's load."""
    clock = SystemClock()
    times_ms = []
    for _ in range(ANSWERS):
        started_ms = clock.monotonic_ms()
        await connection.use(ClusterOperations).describe_cluster()
        times_ms.append(clock.monotonic_ms() - started_ms)
    median_ms = statistics.median(times_ms)
    what = f"a small question is answered in {median_ms:.1f} ms (median of {ANSWERS})"
    if median_ms > SLOW_MS:
        return warning("brokers", what, "look at processor and disks; add brokers, or move partitions")
    return good("brokers", what)


async def check_versions(connection: Connection, _now: ClusterNow) -> AsyncIterator[Finding]:
    served = dict(await connection.use(ClusterOperations).describe_api_versions(timeout_s=ASKING_S))
    different = {broker for broker, versions in served.items() if versions != next(iter(served.values()))}
    if different:
        yield warning(
            "versions", f"broker {min(different)} speaks other versions than the first", "finish the upgrade of all"
        )
    else:
        yield good("versions", f"all brokers speak the same {len(next(iter(served.values()), {}))} requests")
    foreign = []
    for name in NEEDED:
        ours = request_class(ApiKey[_constant(name)]).VERSIONS
        for broker_id, versions in served.items():
            theirs = versions.get(name)
            if theirs is None or theirs.high < ours.low or theirs.low > ours.high:
                foreign.append(f"{name} of broker {broker_id}")
    if foreign:
        yield bad("versions", f"this client cannot speak {foreign[0]}", "use a client of the brokers' time")
    else:
        yield good("versions", "this client and the brokers understand each other")


def _constant(name: str) -> str:
    """`ListOffsets` as LIST_OFFSETS."""
    return "".join(f"_{each}" if each.isupper() and index else each for index, each in enumerate(name)).upper()


async def check_disks(connection: Connection, now: ClusterNow, free_min: float) -> AsyncIterator[Finding]:
    brokers = [node.id for node in now.cluster.nodes]
    results = await connection.use(LogDirOperations).describe_log_dirs(brokers, timeout_s=ASKING_S, raise_errors=False)
    for broker_id, error in sorted(results.errors.items()):
        yield bad("disks", f"broker {broker_id} does not tell: {_short(error)}", "look at its log")
    for broker_id, directories in sorted(results.succeeded.items()):
        for path, directory in sorted(directories.items()):
            yield _disk(broker_id, path, directory, free_min)


def _disk(broker_id: int, path: str, directory: LogDirDescription, free_min: float) -> Finding:
    where = f"broker {broker_id}, {path}"
    if directory.error is not None:
        return bad("disks", f"{where} is offline", "look at the disk, then restart the broker")
    used = sum(each.size for each in directory.replica_infos.values())
    what = f"{where}: {size(used)} in {len(directory.replica_infos)} replicas"
    if not directory.total_bytes or directory.usable_bytes is None:
        return good("disks", what)
    free = directory.usable_bytes / directory.total_bytes
    what += f", {free:.0%} of {size(directory.total_bytes)} free"
    if free < FULL:
        return bad("disks", what, "delete topics, lower retention, or move partitions now")
    if free < free_min:
        return warning("disks", what, "lower retention, move partitions, or add a disk")
    return good("disks", what)


def _short(error: MoldauError) -> str:
    return text_of(error).splitlines()[0]
