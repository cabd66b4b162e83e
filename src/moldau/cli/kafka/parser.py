"""The command line as Kafka's tools read it.

Options may be written with one dash or two, and `--name value` or `--name=value`; they are not abbreviated. What is
not given is None (or False, or an empty list), so that a tool can tell it from a default. What is wrong is told in
the words of Kafka's tools, without the pages of help that they print behind it.
"""

from __future__ import annotations

import re
from argparse import SUPPRESS, ArgumentError, ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from typing import NoReturn

from moldau.cli.kafka.failures import WrongUsage

HELP_WIDTH = 110


class ToolParser(ArgumentParser):
    """An argparse parser with Kafka's manners."""

    def __init__(self, name: str, summary: str, examples: Sequence[str]) -> None:
        listed = "".join(f"\n  {name} {each}" for each in examples)
        super().__init__(
            prog=name,
            description=summary,
            epilog=f"examples:{listed}",
            usage="%(prog)s [OPTIONS]",
            allow_abbrev=False,
            add_help=False,
            exit_on_error=False,
            formatter_class=lambda prog: RawDescriptionHelpFormatter(prog, max_help_position=40, width=HELP_WIDTH),
        )
        self.flag("help", "print this text", "h")
        self.flag("version", "print the version of Kafka that this tool follows, and Moldau's own")
        self.flag("debug", "show the traceback of an error")

    def flag(self, name: str, text: str, *aliases: str) -> None:
        """An option without a value."""
        self.add_argument(*_spelled(name, aliases), dest=_key(name), action="store_true", help=text)

    def option(
        self,
        name: str,
        text: str,
        *aliases: str,
        metavar: str = "TEXT",
        type: Callable[[str], object] = str,  # noqa: A002  # argparse's word
        may_be_empty: bool = False,
        hidden: bool = False,
    ) -> None:
        """An option with one value, or with `may_be_empty` perhaps none, which is then an empty text."""
        self.add_argument(
            *_spelled(name, aliases),
            dest=_key(name),
            action="append",
            type=type,
            metavar=metavar,
            nargs="?" if may_be_empty else None,
            const="" if may_be_empty else None,
            help=SUPPRESS if hidden else text,
        )

    def repeated(self, name: str, text: str, *aliases: str, metavar: str = "TEXT") -> None:
        """An option that may be given several times."""
        self.add_argument(
            *_spelled(name, aliases), dest=f"{_key(name)}_all", action="append", metavar=metavar, help=text
        )

    def several(self, name: str, text: str, *, metavar: str = "NAME=VALUE") -> None:
        """An option with one value or more behind it."""
        self.add_argument(f"--{name}", dest=f"{_key(name)}_all", action="extend", nargs="+", metavar=metavar, help=text)

    def ignored(self, *names: str, value: bool = False) -> None:
        """Options of older days that change nothing any more."""
        for name in names:
            self.add_argument(f"--{name}", dest=_key(name), action="append" if value else "store_true", help=SUPPRESS)

    def parse(self, words: Sequence[str]) -> Namespace:
        try:
            options, rest = self.parse_known_args([self._doubled(word) for word in words])
        except ArgumentError as error:
            raise WrongUsage(_told(error)) from error
        for word in rest:
            name = word.lstrip("-").partition("=")[0]
            raise WrongUsage(f"{name} is not a recognized option" if word[0] == "-" else f"unexpected argument: {word}")
        for key, values in vars(options).items():
            if isinstance(values, list) and not key.endswith("_all"):
                if len(values) > 1:
                    raise WrongUsage(f"Found multiple arguments for option {_name(key)}, but you asked for only one")
                setattr(options, key, values[0])
            elif values is None and key.endswith("_all"):
                setattr(options, key, [])
        return options

    def error(self, message: str) -> NoReturn:
        raise WrongUsage(message)

    def _doubled(self, word: str) -> str:
        name = f"-{word.partition('=')[0]}"
        return f"-{word}" if re.match(r"-[a-z]", word) and name in self._option_string_actions else word


def require(options: Namespace, *names: str) -> None:
    """Refuse a command line that lacks one of these."""
    for name in names:
        if not has(options, name):
            raise WrongUsage(f'Missing required argument "[{name}]"')


def exclude(options: Namespace, used: str, *others: str) -> None:
    """Refuse a command line that has an option beside one that it cannot be used with."""
    if has(options, used):
        for other in others:
            if other != used and has(options, other):
                raise WrongUsage(f'Option "[{used}]" can\'t be used with option "[{other}]"')


def exactly_one(options: Namespace, names: Sequence[str], message: str) -> str:
    """The one option of these that is given."""
    given = [name for name in names if has(options, name)]
    if len(given) != 1:
        raise WrongUsage(message)
    return given[0]


def has(options: Namespace, name: str) -> bool:
    """Whether an option was given."""
    key = _key(name)
    value = getattr(options, f"{key}_all") if hasattr(options, f"{key}_all") else getattr(options, key)
    return value is not None and value is not False and value != []


def _spelled(name: str, aliases: Sequence[str]) -> list[str]:
    return [f"--{each}" if len(each) > 1 else f"-{each}" for each in (name, *aliases)]


def _key(name: str) -> str:
    return re.sub(r"[-.]", "_", name)


def _name(key: str) -> str:
    return key.replace("_", "-")


def _told(error: ArgumentError) -> str:
    name = (error.argument_name or "").split("/")[0].lstrip("-")
    if found := re.search(r"invalid \S+ value: '(.*)'$", error.message):
        return f"Cannot parse argument '{found[1]}' of option {name}"
    if error.message.startswith("expected"):
        return f"Option {name} requires an argument"
    return f"Option {name}: {error.message}"
