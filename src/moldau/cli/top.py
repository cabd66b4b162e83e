"""`moldau top`: a cluster at work."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from moldau.cli.cluster_arguments import add_cluster_arguments, at_least
from moldau.cli.command import Command

if TYPE_CHECKING:
    from moldau.cli.kafka.connecting import Connection

INTERVAL_S = 2.0
ROWS = 15


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--interval", type=at_least(0.1, float), default=INTERVAL_S, metavar="SECONDS", help="between two looks"
    )
    parser.add_argument(
        "--rows", type=at_least(1), default=ROWS, metavar="N", help=f"the busiest topics and groups; {ROWS} unless said"
    )
    parser.add_argument("--once", action="store_true", help="one frame, after one interval, and the end")
    add_cluster_arguments(parser, json="print a line of JSON for each frame")


def run(arguments: Namespace) -> int:
    from moldau.cli.kafka.connecting import with_connection

    async def work(connection: Connection) -> int:
        from moldau.cli.watching import watch

        await watch(connection, arguments.interval, arguments.rows, once=arguments.once, as_json=arguments.json)
        return 0

    try:
        return with_connection(arguments, work)
    except KeyboardInterrupt:  # the way to end it
        return 0


COMMAND = Command(
    "top",
    "watch a cluster: topics, rates, lag, replicas; Ctrl-C ends",
    add_arguments,
    run,
    [
        ("moldau top", "every two seconds"),
        ("moldau top --once --json", "one look, for a script"),
        ("moldau top -b broker1:9092 --interval 10 --rows 40", "a busy cluster, slowly"),
    ],
)
