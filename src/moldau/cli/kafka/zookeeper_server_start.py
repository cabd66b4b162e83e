"""`zookeeper-server-start`: a ZooKeeper by its zookeeper.properties."""

from __future__ import annotations

from argparse import Namespace

from moldau.cli.kafka.parser import ToolParser
from moldau.cli.kafka.tool import Tool


def add_options(parser: ToolParser) -> None:
    parser.add_argument("properties", metavar="FILE", help="a zookeeper.properties")
    parser.flag("daemon", "run in the background; its output is in logs/zookeeper.out")


def run(options: Namespace) -> int:
    words = ["zookeeper-server-start", options.properties]
    if options.daemon:
        from moldau.cli.kafka.server_processes import start_in_background

        return start_in_background(words, "zookeeper")
    from moldau.cli.main import run as run_moldau

    return run_moldau(words)


TOOL = Tool(
    "zookeeper-server-start",
    "Start a ZooKeeper.",
    add_options,
    run,
    ("zookeeper.properties", "-daemon zookeeper.properties"),
)
main = TOOL.main
