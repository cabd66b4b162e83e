"""`kafka-cluster`: the id of a cluster, and brokers that it is to forget."""

from __future__ import annotations

from argparse import Namespace

from moldau.cli.kafka.connecting import Connection, add_connection_options, with_connection
from moldau.cli.kafka.parser import ToolParser, require
from moldau.cli.kafka.tool import Tool


def add_options(parser: ToolParser) -> None:
    parser.add_argument(
        "command",
        choices=["cluster-id", "unregister"],
        help="cluster-id: print the id of the cluster; unregister: forget a broker that will not come back",
    )
    add_connection_options(parser)
    parser.option("config", "the same as --command-config", metavar="FILE")
    parser.option("id", "the broker to unregister", "i", metavar="ID", type=int)


def run(options: Namespace) -> int:
    require(options, "bootstrap-server")
    options.command_config = options.command_config or options.config
    if options.command == "unregister":
        require(options, "id")
        return with_connection(options, lambda connection: unregister(connection, options.id))
    return with_connection(options, print_id)


async def print_id(connection: Connection) -> int:
    from moldau.clients.admin.cluster_operations import ClusterOperations

    found = await connection.use(ClusterOperations).describe_cluster()
    if found.cluster_id is None:
        print("No cluster ID found. The Kafka version is probably too old.")
    else:
        print(f"Cluster ID: {found.cluster_id}")
    return 0


async def unregister(connection: Connection, broker_id: int) -> int:
    """Only KRaft remembers brokers that are gone; others say so, as they do to Kafka's own tool."""
    from moldau.base.errors import UnsupportedVersion
    from moldau.clients.admin.cluster_operations import ClusterOperations

    try:
        await connection.use(ClusterOperations).unregister_broker(broker_id)
    except UnsupportedVersion:
        print("The target cluster does not support the broker unregistration API.")
    else:
        print(f"Broker {broker_id} is no longer registered.")
    return 0


TOOL = Tool(
    "kafka-cluster",
    "Tell the id of a cluster, or let it forget a broker.",
    add_options,
    run,
    ("cluster-id --bootstrap-server localhost:9092", "unregister --bootstrap-server localhost:9092 --id 3"),
)
main = TOOL.main
