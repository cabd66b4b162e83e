"""The arguments of all commands that talk to a cluster."""

from __future__ import annotations

import os
from argparse import ArgumentParser

from moldau.base.errors import ConfigError

DEFAULT_SERVER = "localhost:9092"
VARIABLE = "MOLDAU_BOOTSTRAP_SERVER"


def add_cluster_arguments(parser: ArgumentParser, *, json: str = "print JSON") -> None:
    """Where the cluster is, how it is talked to, and `--json`."""
    parser.add_argument(
        "-b",
        "--bootstrap-server",
        metavar="HOST:PORT,…",
        default=os.environ.get(VARIABLE) or DEFAULT_SERVER,
        help=f"brokers to connect to; {DEFAULT_SERVER}, unless said here or in {VARIABLE}",
    )
    parser.add_argument("--command-config", metavar="FILE", help="a file with settings of the client")
    parser.add_argument("--json", action="store_true", help=json)


def pairs(given: list[str], what: str) -> dict[str, str]:
    """`NAME=VALUE` as given."""
    found = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"{each!r} is no {what}: write NAME=VALUE")
        found[name.strip()] = value
    return found


def at_least(smallest: float, kind: type[int] | type[float] = int) -> _AtLeast:
    return _AtLeast(smallest, kind)


class _AtLeast:
    """A number that must not be smaller, for argparse, which tells the name in its message."""

    def __init__(self, smallest: float, kind: type[int] | type[float]) -> None:
        self._smallest = smallest
        self._kind = kind
        self.__name__ = f"number of at least {smallest}"

    def __call__(self, text: str) -> float:
        number = self._kind(text)
        if not self._smallest <= number < float("inf"):
            raise ValueError
        return number
