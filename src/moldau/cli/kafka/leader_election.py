"""`kafka-leader-election`: let preferred replicas lead again, or any replica at all."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from moldau.cli.kafka.connecting import Connection, add_connection_options, with_connection
from moldau.cli.kafka.failures import ToolFailed, text_of
from moldau.cli.kafka.parser import ToolParser, has
from moldau.cli.kafka.tool import Tool

if TYPE_CHECKING:
    from moldau.clients.records import TopicPartition

TYPES = ("PREFERRED", "UNCLEAN")
CHOICES = ("topic", "all-topic-partitions", "path-to-json-file")


def add_options(parser: ToolParser) -> None:
    add_connection_options(parser)
    parser.option("admin.config", "the same as --command-config", metavar="FILE")
    parser.option("election-type", "preferred, or unclean: replicas that may have missed records", metavar="TYPE")
    parser.option("topic", "the topic", metavar="TOPIC")
    parser.option("partition", "its partition", metavar="N", type=int)
    parser.flag("all-topic-partitions", "all partitions")
    parser.option("path-to-json-file", 'a file with {"partitions":[{"topic":"orders","partition":0}]}', metavar="FILE")


def run(options: Namespace) -> int:
    missing = [name for name in ("bootstrap-server", "election-type") if not has(options, name)]
    if missing:
        raise ToolFailed(f"Missing required option(s): {', '.join(missing)}")
    if sum(has(options, name) for name in CHOICES) != 1:
        raise ToolFailed(f"One and only one of the following options is required: {', '.join(CHOICES)}")
    if has(options, "topic") and not has(options, "partition"):
        raise ToolFailed("Missing required option(s): partition")
    if has(options, "partition") and not has(options, "topic"):
        raise ToolFailed("Option partition is only allowed if topic is used")
    kind = options.election_type.upper()
    if kind not in TYPES:
        raise ToolFailed(
            f"Cannot parse argument '{options.election_type}' of option election-type: preferred or unclean"
        )
    options.command_config = options.command_config or options.admin_config
    partitions = _partitions(options)
    return with_connection(options, lambda connection: elect(connection, kind, partitions))


def _partitions(options: Namespace) -> list[TopicPartition] | None:
    from moldau.clients.records import TopicPartition

    if options.topic is not None:
        return [TopicPartition(options.topic, options.partition)]
    return None if options.path_to_json_file is None else partitions_in(options.path_to_json_file)


def partitions_in(path: str) -> list[TopicPartition]:
    """The partitions that a file lists, each once."""
    from moldau.cli.kafka.documents import read_document, rows_of
    from moldau.clients.records import TopicPartition

    rows = rows_of(read_document(path), path, "partitions", topic=str, partition=int)
    partitions = [TopicPartition(row["topic"], row["partition"]) for row in rows]
    if twice := [str(each) for each in dict.fromkeys(partitions) if partitions.count(each) > 1]:
        raise ToolFailed(f"Replica election data contains duplicate partitions: {','.join(twice)}")
    return partitions


async def elect(connection: Connection, kind: str, partitions: list[TopicPartition] | None) -> int:
    from moldau.clients.admin.reassignments import ElectionType, ReassignmentOperations

    results = await connection.use(ReassignmentOperations).elect_leaders(
        ElectionType[kind], partitions, raise_errors=False
    )
    elected = [str(each) for each, new in results.succeeded.items() if new]
    unneeded = [str(each) for each, new in results.succeeded.items() if not new]
    if elected:
        print(f"Successfully completed leader election ({kind}) for partitions {', '.join(elected)}")
    if unneeded:
        print(f"Valid replica already elected for partitions {', '.join(unneeded)}")
    for partition, error in results.errors.items():
        print(f"Error completing leader election ({kind}) for partition: {partition}: {text_of(error)}")
    if results.errors:
        raise ToolFailed(f"{len(results.errors)} replica(s) could not be elected")
    return 0


TOOL = Tool(
    "kafka-leader-election",
    "Elect a new leader for a set of topic partitions.",
    add_options,
    run,
    (
        "--bootstrap-server localhost:9092 --election-type preferred --all-topic-partitions",
        "--bootstrap-server localhost:9092 --election-type unclean --topic orders --partition 0",
    ),
)
main = TOOL.main
