"""What a tool is, and how it ends: with its exit code, whatever happens."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from moldau.base.errors import MoldauError
from moldau.base.version import __version__
from moldau.cli.kafka.failures import WrongUsage, text_of
from moldau.cli.kafka.parser import ToolParser

KAFKA_VERSION = "3.9.1"
FAILED = 1
INTERRUPTED = 130
TERMINATED = 143


@dataclass(frozen=True, slots=True)
class Tool:
    """`failure` comes before the text of an error, as Kafka's tool has it; `examples` are what follows the name."""

    name: str
    summary: str
    add_options: Callable[[ToolParser], None]
    run: Callable[[Namespace], int]
    examples: Sequence[str] = field(default_factory=tuple)
    failure: str = ""
    needs_arguments: bool = True

    def main(self, arguments: Sequence[str] | None = None) -> int:
        """Run with these arguments, or those of the process; the exit code."""
        words = list(sys.argv[1:] if arguments is None else arguments)
        if arguments is None:
            end_cleanly_when_told()
        try:
            return self._run(words)
        except WrongUsage as error:
            print(f"{error}\nRun {self.name} --help for its options.", file=sys.stderr)
            return _failed(words)
        except (MoldauError, OSError) as error:
            if isinstance(error, BrokenPipeError):
                return _without_reader()
            print(f"{self.failure}{told(error)}", file=sys.stderr)
            return _failed(words)
        except KeyboardInterrupt:
            return INTERRUPTED
        except Exception as error:
            # Nobody foresaw it: a file with other contents than it should have, or a mistake of ours.
            print(f"{self.failure}{type(error).__name__}: {error} (--debug shows where)", file=sys.stderr)
            return _failed(words)

    def _run(self, words: list[str]) -> int:
        parser = ToolParser(self.name, self.summary, self.examples)
        self.add_options(parser)
        if not words and self.needs_arguments:
            print(parser.format_help(), end="", file=sys.stderr)
            return FAILED
        if not {"--help", "-help", "-h"}.isdisjoint(words):
            print(parser.format_help(), end="")
            return 0
        if not {"--version", "-version"}.isdisjoint(words):
            print(f"{KAFKA_VERSION} (Moldau {__version__})")
            return 0
        code = self.run(parser.parse(words))
        sys.stdout.flush()
        return code


def end_cleanly_when_told() -> None:
    """SIGTERM unwinds as Ctrl-C does, so that a consumer leaves its group and a producer sends what it has."""
    import signal

    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(TERMINATED))


def told(error: BaseException) -> str:
    """An error in one line; one of the system with the file that it is about."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return text_of(error)


def _failed(words: Sequence[str]) -> int:
    if not {"--debug", "-debug"}.isdisjoint(words):
        import traceback

        traceback.print_exc()
    return FAILED


def _without_reader() -> int:
    """Nobody reads the output any more, as with `| head`; the interpreter must not try to flush it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
