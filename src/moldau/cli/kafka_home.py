"""`moldau kafka-home`: a directory like that of a Kafka installation, for scripts that expect one."""

from __future__ import annotations

import shlex
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from moldau.base.errors import ConfigError
from moldau.cli.command import Command
from moldau.cli.kafka.scripts import SCRIPTS

_WRAPPER = """#!/bin/sh
exec {python} -c 'import sys; from moldau.cli.kafka.{module} import main; sys.exit(main())' "$@"
"""
# Scripts of that kind start a ZooKeeper first, and expect the broker to use it.
_ZOOKEEPER = "zookeeper.connect=localhost:2181"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="where to write it")


def run(arguments: Namespace) -> int:
    folder = arguments.directory / "bin"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for script, module in SCRIPTS.items():
            path = folder / f"{script}.sh"
            path.write_text(_WRAPPER.format(python=shlex.quote(sys.executable), module=module))
            path.chmod(0o755)
        written = write_templates(arguments.directory / "config")
    except OSError as error:
        raise ConfigError(f"{error.filename or folder}: {error.strerror}") from error
    print(f"{folder} has {len(SCRIPTS)} scripts of Kafka, which run with Moldau")
    if written:
        print(f"{arguments.directory / 'config'} has {', '.join(written)}")
    return 0


def write_templates(folder: Path) -> list[str]:
    """The files that are not there yet: what somebody has changed stays."""
    from moldau.templates import NAMES, template

    folder.mkdir(parents=True, exist_ok=True)
    missing = [name for name in NAMES if not (folder / name).exists()]
    for name in missing:
        (folder / name).write_text(template(name).replace(f"#{_ZOOKEEPER}", _ZOOKEEPER))
    return missing


COMMAND = Command(
    "kafka-home",
    "write bin/kafka-topics.sh and the other scripts of Kafka, for what expects a Kafka installation",
    add_arguments,
    run,
    [("moldau kafka-home ./kafka && ./kafka/bin/kafka-topics.sh --help", "Kafka's scripts, under their own names")],
)
