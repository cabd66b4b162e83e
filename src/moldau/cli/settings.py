"""`moldau settings`: what a setting means, what it may be, and whether Moldau obeys it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from moldau.base.config.help import help_text
from moldau.base.config.schema import Scope
from moldau.base.errors import ConfigError
from moldau.cli.command import Command


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("scope", choices=[scope.value for scope in Scope], help="whose settings")
    parser.add_argument("pattern", nargs="?", default="", help="a part of the name, or a pattern with * and ?")


def run(arguments: Namespace) -> int:
    text = help_text(Scope(arguments.scope), arguments.pattern)
    if not text:
        raise ConfigError(f"no {arguments.scope} setting matches {arguments.pattern!r}; try a shorter part of its name")
    print(text)
    return 0


COMMAND = Command(
    "settings",
    "explain settings: type, default, allowed values, and what Moldau does with them",
    add_arguments,
    run,
    [
        ("moldau settings broker retention", "every broker setting about retention"),
        ("moldau settings topic '*.ms'", "every topic setting that is a time"),
        ("moldau settings producer", "all of a producer's settings"),
    ],
)
