"""`kafka-server-stop`: stop all brokers of this user on this machine."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from moldau.cli.kafka.parser import ToolParser
from moldau.cli.kafka.tool import Tool


def add_options(_parser: ToolParser) -> None:
    """It has none."""


def run(_options: Namespace) -> int:
    from moldau.cli.kafka.server_processes import runs, stop_all

    by_moldau = runs("serve")

    def is_it(words: list[str]) -> bool:
        return by_moldau(words) or any(Path(each).name == "kafka-server-start" for each in words[:2])

    return stop_all(is_it, "kafka server")


TOOL = Tool("kafka-server-stop", "Stop all brokers of this user.", add_options, run, ("",), needs_arguments=False)
main = TOOL.main
