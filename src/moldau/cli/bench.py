"""`moldau bench`: a few figures of a cluster, as this machine sees it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from moldau.cli.cluster_arguments import add_cluster_arguments, at_least
from moldau.cli.command import Command

RECORDS = 200_000
SIZE = 100
RECORDS_MAX = 100_000_000
SIZE_MAX = 1_000_000


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--records", type=at_least(100), default=RECORDS, metavar="N", help=f"how many; {RECORDS:,} unless said"
    )
    parser.add_argument(
        "--size", type=at_least(1), default=SIZE, metavar="BYTES", help=f"of each record's value; {SIZE} unless said"
    )
    parser.add_argument("--partitions", type=at_least(1), default=1, metavar="N", help="of the topic; 1 unless said")
    parser.add_argument("--replication-factor", type=at_least(1), default=-1, metavar="N", help="of the topic")
    parser.add_argument("--acks", choices=["0", "1", "all"], default="all", help="all unless said")
    parser.add_argument(
        "--compression", choices=["none", "gzip", "snappy", "lz4", "zstd"], default="none", help="none unless said"
    )
    add_cluster_arguments(parser)


def run(arguments: Namespace) -> int:
    from moldau.base.errors import ConfigError
    from moldau.cli.kafka.connecting import bootstrap_servers, settings_in

    if arguments.records > RECORDS_MAX or arguments.size > SIZE_MAX:
        raise ConfigError(f"at most {RECORDS_MAX:,} records of {SIZE_MAX:,} bytes")
    settings = settings_in(arguments.command_config) | {"bootstrap.servers": bootstrap_servers(arguments)}
    from moldau.cli.measuring import COLUMNS, measure
    from moldau.cli.terminal.tables import print_rows

    print_rows(measure(arguments, settings), COLUMNS, as_json=arguments.json)
    return 0


COMMAND = Command(
    "bench",
    "measure how fast a cluster writes and reads",
    add_arguments,
    run,
    [
        ("moldau bench", f"{RECORDS:,} records of {SIZE} bytes: rates and latencies"),
        ("moldau bench --size 1000 --partitions 6 --compression zstd", "larger records, over six partitions"),
        ("moldau bench --json", "as JSON"),
    ],
    description="""
        Measure how fast a cluster writes and reads, with this client on this machine, in a topic of its own that is
        deleted again. Figures of different record sizes cannot be compared.
    """,
)
