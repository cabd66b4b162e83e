"""All checks of a cluster, in the order in which a person would make them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from moldau.base.errors import MoldauError
from moldau.cli.cluster_sample import ClusterNow, cluster_now
from moldau.cli.health.broker_checks import check_brokers, check_disks, check_versions
from moldau.cli.health.finding import Finding, bad
from moldau.cli.health.log_files import check_log_file
from moldau.cli.health.topic_checks import check_groups, check_jobs, check_partitions
from moldau.cli.kafka.connecting import Connection
from moldau.cli.kafka.failures import text_of


@dataclass(frozen=True, slots=True)
class Limits:
    """From where on something is worth a warning."""

    lag_max: int
    disk_free_min: float


Check = Callable[[Connection, ClusterNow], AsyncIterator[Finding]]


async def examine(
    connection: Connection, limits: Limits, zookeeper: str | None, log_files: Sequence[Path]
) -> list[Finding]:
    now = await cluster_now(connection, with_groups=False)
    checks: list[tuple[str, Check]] = [
        ("brokers", check_brokers),
        ("versions", check_versions),
        ("disks", lambda connection, now: check_disks(connection, now, limits.disk_free_min)),
        ("partitions", check_partitions),
        ("groups", lambda connection, now: check_groups(connection, now, limits.lag_max)),
        ("jobs", check_jobs),
    ]
    findings: list[Finding] = []
    for area, check in checks:
        try:
            findings += [each async for each in check(connection, now)]
        except MoldauError as error:
            findings.append(bad(area, f"it cannot be looked at: {text_of(error)}", "look at the brokers' logs"))
    if zookeeper is not None:
        from moldau.cli.health.zookeeper_checks import check_zookeeper

        findings += check_zookeeper(zookeeper, now)
    for path in log_files:
        findings += check_log_file(path)
    return findings
