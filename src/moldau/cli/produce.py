"""`moldau produce`: records from a file or standard input."""

from __future__ import annotations

import contextlib
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from moldau.base.errors import ConfigError
from moldau.cli.cluster_arguments import add_cluster_arguments, at_least, pairs
from moldau.cli.command import Command

if TYPE_CHECKING:
    from moldau.cli.record_lines import Headers, NewRecord

FAILED = 1
# A person does not wait a minute to hear that there is no such topic.
BLOCK_MS = "10000"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("topic", help="where to write")
    parser.add_argument("file", nargs="?", type=Path, help="a file with a record in each line; else standard input")
    parser.add_argument("--key-separator", metavar="TEXT", help="what comes before it in a line is the record's key")
    parser.add_argument("--key", metavar="TEXT", help="the key of all records")
    parser.add_argument(
        "--header", action="append", default=[], metavar="NAME=VALUE", help="a header of all; may be repeated"
    )
    parser.add_argument("--partition", type=at_least(0), metavar="N", help="where all of them go")
    parser.add_argument("--json-lines", action="store_true", help="lines are JSON, as `moldau consume --json` prints")
    parser.add_argument("--rate", type=at_least(0.001, float), metavar="N", help="at most so many records a second")
    parser.add_argument("--acks", choices=["0", "1", "all"], help="who has to have a record before it counts as sent")
    parser.add_argument("--compression", choices=["none", "gzip", "snappy", "lz4", "zstd"], help="of batches")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the producer; may be repeated"
    )
    add_cluster_arguments(parser, json="print what was done as JSON")


def settings_of(arguments: Namespace) -> dict[str, object]:
    from moldau.cli.kafka.connecting import bootstrap_servers, settings_in

    settings: dict[str, object] = {"max.block.ms": BLOCK_MS, "linger.ms": "5", "client.id": "moldau-produce"}
    settings |= settings_in(arguments.command_config) | pairs(arguments.set, "setting")
    if arguments.acks is not None:
        settings["acks"] = arguments.acks
    if arguments.compression is not None:
        settings["compression.type"] = arguments.compression
    return settings | {"bootstrap.servers": bootstrap_servers(arguments)}


@contextlib.contextmanager
def source_of(arguments: Namespace) -> Iterator[tuple[BinaryIO, int | None]]:
    """What is read, and how many bytes that is, if anybody knows."""
    if arguments.file is None:
        if sys.stdin.isatty():
            print("a record is a line; Ctrl-D ends", file=sys.stderr)
        yield sys.stdin.buffer, None
        return
    with arguments.file.open("rb") as source:
        yield source, arguments.file.stat().st_size


def records_of(arguments: Namespace, source: BinaryIO) -> Iterator[NewRecord]:
    from moldau.cli.record_lines import json_records, text_records

    separator = arguments.key_separator
    if arguments.json_lines:
        return json_records(source)
    return text_records(source, None if separator is None else separator.encode().decode("unicode_escape").encode())


def run(arguments: Namespace) -> int:
    if arguments.key is not None and (arguments.json_lines or arguments.key_separator):
        raise ConfigError("--key is the key of all records: it goes with neither --json-lines nor --key-separator")
    if arguments.json_lines and arguments.key_separator:
        raise ConfigError("--json-lines has keys in the JSON: leave out --key-separator")
    from moldau.cli.writing import Writing

    headers: Headers = [(name, value.encode()) for name, value in pairs(arguments.header, "header").items()]
    key = None if arguments.key is None else arguments.key.encode()
    with source_of(arguments) as (source, size):
        writing = Writing(arguments.topic, key, headers, arguments.partition, arguments.rate)
        writing.write(settings_of(arguments), records_of(arguments, source), size)
    writing.report(as_json=arguments.json)
    return FAILED if writing.failed else 0


COMMAND = Command(
    "produce",
    "write records from a file or standard input",
    add_arguments,
    run,
    [
        ("moldau produce orders orders.txt", "a record for each line of a file"),
        ("echo 'alice:3 apples' | moldau produce orders --key-separator :", "one record, with a key"),
        ("moldau consume orders --json | moldau produce copy --json-lines", "keys, headers and times too"),
        ("moldau produce orders orders.txt --rate 100 --header source=import", "slowly, with a header"),
    ],
)
