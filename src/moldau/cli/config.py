"""`moldau config`: configuration files to begin with."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from moldau.base.errors import ConfigError
from moldau.cli.command import Command
from moldau.templates import NAMES


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", choices=NAMES, help="which one")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write it there; else it is printed")


def run(arguments: Namespace) -> int:
    from moldau.templates import template

    text = template(arguments.file)
    if arguments.output is None:
        print(text, end="")
        return 0
    path = arguments.output / arguments.file if arguments.output.is_dir() else arguments.output
    try:
        with path.open("x") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(f"{path} is there already: name another file") from None
    print(f"{path} has been written")
    return 0


COMMAND = Command(
    "config",
    "print a configuration file to begin with, every line explained",
    add_arguments,
    run,
    [
        ("moldau config server.properties", "the settings that a broker most often needs"),
        ("moldau config server.properties --output broker.properties", "into a file, then change it"),
    ],
)
