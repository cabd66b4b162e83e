"""`zookeeper-server-stop`: stop all ZooKeepers of this user that were started by these scripts."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from moldau.cli.kafka.parser import ToolParser
from moldau.cli.kafka.tool import Tool


def add_options(_parser: ToolParser) -> None:
    """It has none."""


def run(_options: Namespace) -> int:
    from moldau.cli.kafka.server_processes import runs, stop_all

    by_moldau = runs("zookeeper-server-start")

    def is_it(words: list[str]) -> bool:
        return by_moldau(words) or any(Path(each).name == "zookeeper-server-start" for each in words[:2])

    return stop_all(is_it, "zookeeper server")


TOOL = Tool(
    "zookeeper-server-stop",
    "Stop all ZooKeepers of this user that were started by zookeeper-server-start.",
    add_options,
    run,
    ("",),
    needs_arguments=False,
)
main = TOOL.main
