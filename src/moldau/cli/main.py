"""`moldau`: the entry point of all commands, and how everything that goes wrong in them ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import moldau
from moldau.base.errors import MoldauError
from moldau.cli.command import USAGE_ERROR, Command, CommandGroup

# By name, so that a command loads its own file only; the summaries are in `moldau --help`.
COMMANDS = {
    "serve": "start a broker",
    "topics": "list, describe, create, alter, move and delete topics",
    "groups": "list and describe groups, see their rates, reset where they go on",
    "produce": "write records from a file or standard input",
    "consume": "read records: all that there are, or as they come",
    "top": "watch a cluster: topics, rates, lag",
    "doctor": "check the health of a cluster, and say what to do",
    "pipeline": "run data pipelines on Spark",
    "bench": "measure how fast a cluster writes and reads",
    "settings": "explain settings: type, default, allowed values, and what Moldau does with them",
    "config": "print a configuration file to begin with, every line explained",
    "zookeeper-server-start": "run a ZooKeeper, for clusters of several brokers",
    "kafka-home": "write the scripts of Kafka into a directory, for what expects a Kafka installation",
    "completion": "print what makes a shell complete these commands",
}
FAILED = 1
INTERRUPTED = 130


def main() -> None:
    from moldau.cli.kafka.tool import end_cleanly_when_told

    end_cleanly_when_told()
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
        code = find(name).main(rest)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Nobody reads the output any more, as with `| head`; the interpreter must not try to flush it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        _tell(error)
        if "--debug" in rest:
            import traceback

            traceback.print_exc()
        return FAILED
    return code


def _tell(error: Exception) -> None:
    """Say what is wrong in a line or two."""
    from moldau.cli.kafka.tool import told

    if isinstance(error, MoldauError | OSError):
        print(f"moldau: {told(error)}", file=sys.stderr)
    else:  # nobody foresaw it: a mistake of ours
        print(f"moldau: {type(error).__name__}: {error} (--debug shows where)", file=sys.stderr)


def find(name: str) -> Command | CommandGroup:
    found: Command | CommandGroup = import_module(f"moldau.cli.{name.replace('-', '_')}").COMMAND
    return found


def usage() -> str:
    listed = "\n".join(f"  {name:<24}{summary}" for name, summary in COMMANDS.items())
    return (
        "usage: moldau COMMAND [OPTIONS]\n\n"
        "A Kafka-compatible streaming platform in Python.\n\n"
        f"commands:\n{listed}\n\n"
        "`moldau COMMAND --help` explains a command, with examples; `moldau --version` prints the version."
    )
