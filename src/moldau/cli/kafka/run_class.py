"""`kafka-run-class`: a tool by the name of its Java class, as scripts and books call them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

from moldau.cli.kafka.scripts import CLASSES
from moldau.cli.kafka.tool import FAILED

USAGE = """usage: kafka-run-class [-daemon] [-name NAME] [-loggc] [-Dname=value…] CLASS [OPTIONS]

Run the tool that Kafka has under the name of a Java class; settings of a JVM (-D, -X…) change nothing here.
`--debug`, as an option of the tool, shows the traceback of an error.

classes:
{classes}

examples:
  kafka-run-class kafka.tools.GetOffsetShell --broker-list localhost:9092 --topic orders
  kafka-run-class kafka.tools.DumpLogSegments --files 00000000000000000000.log
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run with these arguments, or those of the process; the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    while words and words[0].startswith("-") and words[0] not in ("-h", "-help", "--help"):
        option = words.pop(0)
        if option == "-name" and words:
            words.pop(0)
    if not words or words[0].startswith("-"):
        text = USAGE.format(classes="\n".join(f"  {name}" for name in CLASSES))
        print(text, end="", file=sys.stdout if words else sys.stderr)
        return 0 if words else FAILED
    name, *rest = words
    module = CLASSES.get(name)
    if module is None:
        print(
            f"Error: Could not find or load main class {name}\nRun kafka-run-class --help for the classes it knows.",
            file=sys.stderr,
        )
        return FAILED
    code: int = import_module(f"moldau.cli.kafka.{module}").main(rest)
    return code
