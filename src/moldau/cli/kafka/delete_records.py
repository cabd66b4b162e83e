"""`kafka-delete-records`: delete the records of partitions before given offsets."""

from __future__ import annotations

from argparse import Namespace

from moldau.cli.kafka.connecting import Connection, add_connection_options, with_connection
from moldau.cli.kafka.failures import ToolFailed, text_of
from moldau.cli.kafka.parser import ToolParser, require
from moldau.cli.kafka.tool import FAILED, Tool


def add_options(parser: ToolParser) -> None:
    add_connection_options(parser)
    parser.option(
        "offset-json-file",
        'a file with {"partitions":[{"topic":"orders","partition":0,"offset":5}],"version":1}; -1 is all records',
        metavar="FILE",
    )


def run(options: Namespace) -> int:
    require(options, "bootstrap-server", "offset-json-file")
    from moldau.cli.kafka.documents import read_document, rows_of
    from moldau.clients.records import TopicPartition

    path = options.offset_json_file
    document = read_document(path)
    if document.get("version", 1) != 1:
        raise ToolFailed(f"Not supported version field value {document['version']}")
    rows = rows_of(document, path, "partitions", topic=str, partition=int, offset=int)
    partitions = [TopicPartition(row["topic"], row["partition"]) for row in rows]
    if twice := [str(each) for each in dict.fromkeys(partitions) if partitions.count(each) > 1]:
        raise ToolFailed(f"Offset json file contains duplicate topic partitions: {','.join(twice)}")
    before = {partition: row["offset"] for partition, row in zip(partitions, rows, strict=True)}

    async def work(connection: Connection) -> int:
        from moldau.clients.admin.partitions import PartitionOperations

        print("Executing records delete operation")
        results = await connection.use(PartitionOperations).delete_records(before, raise_errors=False)
        print("Records delete operation completed:")
        for partition in results:
            if partition in results.errors:
                print(f"partition: {partition}\terror: {text_of(results.errors[partition])}")
            else:
                print(f"partition: {partition}\tlow_watermark: {results[partition].low_watermark}")
        return FAILED if results.errors else 0

    return with_connection(options, work)


TOOL = Tool(
    "kafka-delete-records",
    "Delete records of the given partitions down to the specified offset.",
    add_options,
    run,
    ("--bootstrap-server localhost:9092 --offset-json-file delete.json",),
)
main = TOOL.main
