"""What a command is: arguments, an action, and help that ends in examples.

Commands are parsed by argparse, which costs a broker nothing to load (docs/decisions/0004).
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import dedent


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
        listed = "\n".join(f"  {line}\n      {what}" for line, what in self.examples)
        parser = ArgumentParser(
            prog=f"moldau {self.name}",
            description=dedent(self.description).strip() or self.summary,
            epilog=f"examples:\n{listed}",
            formatter_class=RawDescriptionHelpFormatter,
        )
        self.add_arguments(parser)
        return parser

    def main(self, arguments: Sequence[str]) -> int:
        return self.run(self.parser().parse_args(arguments))
