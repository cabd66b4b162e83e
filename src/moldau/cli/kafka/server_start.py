"""`kafka-server-start`: a broker by its server.properties: `moldau serve` under Kafka's name."""

from __future__ import annotations

from argparse import Namespace

from moldau.cli.kafka.failures import WrongUsage
from moldau.cli.kafka.parser import ToolParser
from moldau.cli.kafka.tool import Tool


def add_options(parser: ToolParser) -> None:
    parser.add_argument("properties", metavar="FILE", help="a server.properties")
    parser.repeated("override", "a setting in place of the file's; may be repeated", metavar="NAME=VALUE")
    parser.flag("daemon", "run in the background; its output is in logs/kafkaServer.out")


def run(options: Namespace) -> int:
    words = ["serve", "--config", options.properties]
    for each in options.override_all:
        if "=" not in each:
            raise WrongUsage(f"--override {each}: write NAME=VALUE")
        words += ["--set", each]
    if options.daemon:
        from moldau.cli.kafka.server_processes import start_in_background

        return start_in_background(words, "kafkaServer")
    from moldau.cli.main import run as run_moldau

    return run_moldau(words)


TOOL = Tool(
    "kafka-server-start",
    "Start a broker.",
    add_options,
    run,
    ("server.properties", "-daemon server.properties --override log.retention.hours=1"),
)
main = TOOL.main
