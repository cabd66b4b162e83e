"""`kafka-broker-api-versions`: which APIs each broker has, in which versions, and which of them are usable here."""

from __future__ import annotations

from argparse import Namespace

from moldau.cli.kafka.connecting import Connection, add_connection_options, with_connection
from moldau.cli.kafka.parser import ToolParser, require
from moldau.cli.kafka.tool import Tool


def add_options(parser: ToolParser) -> None:
    add_connection_options(parser)


def run(options: Namespace) -> int:
    require(options, "bootstrap-server")

    async def work(connection: Connection) -> int:
        from moldau.clients.admin.cluster_operations import ClusterOperations

        operations = connection.use(ClusterOperations)
        described = await operations.describe_api_versions()
        for node in await operations.list_nodes():
            if node.id in described:
                listed = ",\n\t".join(_lines({name: tuple(each) for name, each in described[node.id].items()}))
                print(f"{node.host}:{node.port} (id: {node.id} rack: {node.rack or 'null'}) -> (\n\t{listed}\n)")
        return 0

    return with_connection(options, work)


def _lines(told: dict[str, tuple[int, ...]]) -> list[str]:
    from moldau.protocol.api import ApiKey, request_class

    known = {key.title: key for key in ApiKey}
    lines = {}
    for name, (low, high) in told.items():
        versions = str(low) if low == high else f"{low} to {high}"
        if name not in known:
            number = int(name.partition("(")[2].rstrip(")"))
            lines[number] = f"{name}: {versions}"
            continue
        own = request_class(known[name]).VERSIONS
        usable = min(high, own.high)
        if usable < low:
            state = "unusable: node too new"
        elif usable < own.low:
            state = "unusable: node too old"
        else:
            state = f"usable: {usable}"
        lines[int(known[name])] = f"{name}({int(known[name])}): {versions} [{state}]"
    return [lines[number] for number in sorted(lines)]


TOOL = Tool(
    "kafka-broker-api-versions",
    "Retrieve broker version information.",
    add_options,
    run,
    ("--bootstrap-server localhost:9092",),
)
main = TOOL.main
