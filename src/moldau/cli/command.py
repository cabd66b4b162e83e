"""What a command is: arguments, an action, and help that ends in examples.

Commands are parsed by argparse, which costs a broker nothing to load (docs/decisions/0004).
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import dedent

from moldau.base.errors import MoldauError

USAGE_ERROR = 2


class UnknownAction(MoldauError):
    """A group of commands has no action of that name."""


@dataclass(frozen=True, slots=True)
class Command:
    """`summary` is its line in the list of commands, `examples` are pairs of a command line and what it does."""

    name: str
    summary: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]
    examples: Sequence[tuple[str, str]]
    description: str = ""

    def parser(self) -> ArgumentParser:
        parser = ArgumentParser(
            prog=f"moldau {self.name}",
            description=dedent(self.description).strip() or self.summary,
            epilog=f"examples:\n{_listed(self.examples)}",
            formatter_class=RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.add_arguments(parser)
        parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
        return parser

    def main(self, arguments: Sequence[str]) -> int:
        return self.run(self.parser().parse_args(arguments))

    def parsers(self) -> Iterator[tuple[tuple[str, ...], ArgumentParser]]:
        """The words that lead to a command, and what it takes: for shell completion."""
        yield (self.name,), self.parser()


@dataclass(frozen=True, slots=True)
class CommandGroup:
    """Commands about one thing: `moldau topics list`, `moldau topics create`, …; the word behind the name chooses."""

    name: str
    summary: str
    actions: Sequence[Command]

    def main(self, arguments: Sequence[str]) -> int:
        if not arguments or arguments[0] in ("-h", "--help", "help"):
            print(self.usage())
            return 0 if arguments else USAGE_ERROR
        wanted, *rest = arguments
        for action in self.actions:
            if action.name == f"{self.name} {wanted}":
                return action.main(rest)
        names = ", ".join(action.name.split()[-1] for action in self.actions)
        raise UnknownAction(f"{self.name} has no action {wanted!r}: it has {names}")

    def parsers(self) -> Iterator[tuple[tuple[str, ...], ArgumentParser]]:
        for action in self.actions:
            yield tuple(action.name.split()), action.parser()

    def usage(self) -> str:
        listed = "\n".join(f"  {action.name.split()[-1]:<12}{action.summary}" for action in self.actions)
        examples = _listed([action.examples[0] for action in self.actions])
        head = f"usage: moldau {self.name} ACTION [OPTIONS]\n\n{self.summary}"
        return f"{head}\n\nactions:\n{listed}\n\nexamples:\n{examples}"


def _listed(examples: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"  {line}\n      {what}" for line, what in examples)
