"""`moldau serve`: start a broker."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from moldau.cli.command import Command

PORT_MAX = 65535


def port(text: str) -> int:
    number = int(text)
    if not 0 <= number <= PORT_MAX:
        raise ValueError
    return number


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--config", type=Path, metavar="FILE", help="Kafka's server.properties; options come before it")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a broker setting; may be repeated"
    )
    parser.add_argument("--port", type=port, help="where to listen, 9092 if nothing else is said; 0 is any free port")
    parser.add_argument("--data", type=Path, metavar="DIR", help="where the data is: the setting log.dirs")
    parser.add_argument(
        "--log-level",
        default="INFO",
        metavar="LEVEL",
        help="DEBUG, INFO, WARNING or ERROR; parts may have their own: INFO,moldau.request=DEBUG",
    )


def run(arguments: Namespace) -> int:
    from moldau.cli.serving import serve_until_stopped, settings_of  # the broker's modules are not for --help to load

    settings = settings_of(arguments.config, arguments.set, arguments.port, arguments.data)
    return serve_until_stopped(settings, arguments.log_level)


COMMAND = Command(
    "serve",
    "start a broker, and stop it on SIGINT or SIGTERM",
    add_arguments,
    run,
    [
        ("moldau serve", "a broker on port 9092, with its data in /tmp/kafka-logs"),
        ("moldau serve --port 19092 --data ./data", "on another port, with its data where you say"),
        (
            "moldau serve --config server.properties --set log.retention.hours=1",
            "as Kafka's own file says, but for one setting",
        ),
        ("moldau serve --log-level INFO,moldau.request=DEBUG", "with a line for every request, and how long it took"),
    ],
)
