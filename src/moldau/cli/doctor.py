"""`moldau doctor`: is a cluster well, and if not, what is to be done."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from moldau.cli.cluster_arguments import add_cluster_arguments, at_least
from moldau.cli.command import Command

if TYPE_CHECKING:
    from moldau.cli.kafka.connecting import Connection

UNWELL = 1
LAG_MAX = 10_000
DISK_FREE_MIN = 15


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--lag-max", type=at_least(0), default=LAG_MAX, metavar="N", help=f"warn of more lag; {LAG_MAX} unless said"
    )
    parser.add_argument(
        "--disk-free-min",
        type=at_least(0),
        default=DISK_FREE_MIN,
        metavar="PERCENT",
        help=f"warn if less of a disk is free; {DISK_FREE_MIN} unless said",
    )
    parser.add_argument("--zookeeper", metavar="HOST:PORT[/CHROOT]", help="look at the cluster's ZooKeeper too")
    parser.add_argument(
        "--log-file", type=Path, action="append", default=[], metavar="FILE", help="look for errors in a broker's log"
    )
    parser.add_argument("--strict", action="store_true", help="exit with 1 on warnings too")
    add_cluster_arguments(parser)


def run(arguments: Namespace) -> int:
    from moldau.cli.kafka.connecting import with_connection

    zookeeper, arguments.zookeeper = arguments.zookeeper, None  # it is looked at, not asked for brokers

    async def work(connection: Connection) -> int:
        from moldau.cli.health.examination import Limits, examine
        from moldau.cli.health.finding import COLUMNS, Status
        from moldau.cli.terminal.tables import print_rows

        limits = Limits(arguments.lag_max, arguments.disk_free_min / 100)
        findings = await examine(connection, limits, zookeeper, arguments.log_file)
        print_rows([each.row for each in findings], COLUMNS, as_json=arguments.json)
        worst = {each.status for each in findings}
        return UNWELL if Status.BAD in worst or (arguments.strict and Status.WARNING in worst) else 0

    return with_connection(arguments, work)


COMMAND = Command(
    "doctor",
    "check the health of a cluster, and say what to do",
    add_arguments,
    run,
    [
        ("moldau doctor", "brokers, versions, disks, partitions, groups, jobs"),
        ("moldau doctor --strict --lag-max 1000 --json", "for a monitor: exit code 1 on any warning"),
        ("moldau doctor --zookeeper zk1:2181 --log-file broker.log", "with ZooKeeper and a broker's log"),
    ],
    description="""
        Check the health of a cluster: brokers that do not answer, controller, versions, disks, partitions without
        leader or with too few replicas, groups that lag, jobs under way. Exit code 1 if something is bad.
    """,
)
