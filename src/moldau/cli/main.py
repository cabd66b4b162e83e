"""`moldau`: the entry point of all commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

import moldau
from moldau.base.errors import MoldauError
from moldau.cli.command import Command

# By name, so that a command loads its own file only; the summaries are in `moldau --help`.
COMMANDS = {
    "serve": "start a broker",
    "settings": "explain settings: type, default, allowed values, and what Moldau does with them",
}
USAGE_ERROR = 2


def main() -> None:
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command; its exit code."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if arguments else USAGE_ERROR
    name, *rest = arguments
    if name == "--version":
        print(f"moldau {moldau.__version__}")
        return 0
    if name not in COMMANDS:
        print(f"moldau: there is no command {name!r}; `moldau --help` lists them", file=sys.stderr)
        return USAGE_ERROR
    try:
        return find(name).main(rest)
    except MoldauError as error:
        print(f"moldau: {error}", file=sys.stderr)
        return 1


def find(name: str) -> Command:
    found: Command = import_module(f"moldau.cli.{name}").COMMAND
    return found


def usage() -> str:
    listed = "\n".join(f"  {name:<12}{summary}" for name, summary in COMMANDS.items())
    return (
        "usage: moldau COMMAND [OPTIONS]\n\n"
        "A Kafka-compatible streaming platform in Python.\n\n"
        f"commands:\n{listed}\n\n"
        "`moldau COMMAND --help` explains a command, with examples; `moldau --version` prints the version."
    )
