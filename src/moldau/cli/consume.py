"""`moldau consume`: records of topics, from somewhere to somewhere, or as they come."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from moldau.base.errors import ConfigError
from moldau.cli.cluster_arguments import add_cluster_arguments, at_least, pairs
from moldau.cli.command import Command

DEFAULT_FORMAT = "{value}"
VERBOSE_FORMAT = "{topic}-{partition}@{offset} {time} {key}: {value}"
PLACES = "an offset, a time (2026-05-01T10:00:00.000) or a duration ago (PT30M)"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("topic", nargs="+", help="names of topics")
    parser.add_argument(
        "--from",
        dest="start",
        metavar="WHERE",
        help=f"earliest, which is the default, latest, -N for the last N of each partition, {PLACES}",
    )
    parser.add_argument(
        "--until", metavar="WHERE", help=f"end, which is the default, {PLACES}; what is there is not read"
    )
    parser.add_argument("--follow", action="store_true", help="go on with what comes, until Ctrl-C")
    parser.add_argument("--count", type=at_least(1), metavar="N", help="end after so many records")
    parser.add_argument(
        "--partition", type=at_least(0), action="append", metavar="N", help="only this; may be repeated"
    )
    parser.add_argument("--group", metavar="GROUP", help="read as a member, from where the group is, and commit")
    parser.add_argument("--committed", action="store_true", help="leave out what open or aborted transactions wrote")
    parser.add_argument(
        "--format",
        metavar="TEXT",
        help=f"how records are printed; {DEFAULT_FORMAT} unless said; also {{topic}} {{partition}} {{offset}} {{key}} "
        "{headers} {timestamp} {time}",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help=f"the format {VERBOSE_FORMAT}")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the consumer; may be repeated"
    )
    add_cluster_arguments(parser, json="print a line of JSON for each record")


def settings_of(arguments: Namespace) -> dict[str, object]:
    from moldau.cli.kafka.connecting import bootstrap_servers, settings_in

    settings: dict[str, object] = {"client.id": "moldau-consume", "allow.auto.create.topics": "false"}
    settings |= settings_in(arguments.command_config) | pairs(arguments.set, "setting")
    if arguments.committed:
        settings["isolation.level"] = "read_committed"
    if arguments.group is not None:
        settings |= {"group.id": arguments.group, "auto.offset.reset": arguments.start or "earliest"}
    return settings | {"bootstrap.servers": bootstrap_servers(arguments)}


def check(arguments: Namespace) -> None:
    if arguments.follow and arguments.until is not None:
        raise ConfigError("--follow never ends: it does not go with --until")
    if arguments.group is not None:
        if arguments.partition is not None or arguments.until is not None:
            raise ConfigError(
                "a member of a group reads what it is given: --group goes with neither --partition nor --until"
            )
        if arguments.start not in (None, "earliest", "latest"):
            raise ConfigError("a group goes on where it is; for a new one --from is earliest or latest")
    if sum((arguments.json, arguments.verbose, arguments.format is not None)) > 1:
        raise ConfigError("--json, --verbose and --format exclude each other")


def run(arguments: Namespace) -> int:
    check(arguments)
    from moldau.cli.record_formats import json_format, text_format

    template = arguments.format or (VERBOSE_FORMAT if arguments.verbose else DEFAULT_FORMAT)
    formatted = json_format if arguments.json else text_format(template)
    settings = settings_of(arguments)
    from moldau.cli.reading import read

    read(arguments, settings, formatted)
    return 0


COMMAND = Command(
    "consume",
    "read records: all that there are, or as they come",
    add_arguments,
    run,
    [
        ("moldau consume orders", "all records there are now, and the end"),
        ("moldau consume orders --from -10 --follow", "the last ten of each partition, then what comes"),
        ("moldau consume orders --from PT1H --json", "those of the last hour, as JSON"),
        (
            "moldau consume orders --partition 0 --from 100 --until 200 --format '{offset}\\t{key}\\t{value}'",
            "some of them",
        ),
        ("moldau consume orders --group billing --count 100", "the next hundred of a group, committed"),
    ],
)
