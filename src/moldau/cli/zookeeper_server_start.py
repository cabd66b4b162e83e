"""`moldau zookeeper-server-start`: Apache ZooKeeper by its own file, until it is stopped."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from moldau.cli.command import Command


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("properties", type=Path, metavar="FILE", help="a zookeeper.properties, as Kafka has one")


def run(arguments: Namespace) -> int:
    import asyncio  # not for --help to load

    return asyncio.run(_serve(arguments.properties))


async def _serve(properties: Path) -> int:
    import asyncio
    import signal

    from moldau.cluster.zookeeper.server import ZooKeeperServer

    server = ZooKeeperServer(properties)
    loop = asyncio.get_running_loop()
    serving = asyncio.current_task()
    assert serving is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, serving.cancel)
    try:
        await server.start()
        print(f"ZooKeeper serves on {server.address}; its data is in {server.data}", flush=True)
        return await server.wait()
    except asyncio.CancelledError:
        return 0
    finally:
        await server.stop()


COMMAND = Command(
    "zookeeper-server-start",
    "run a ZooKeeper, and stop it on SIGINT or SIGTERM",
    add_arguments,
    run,
    [
        ("moldau zookeeper-server-start zookeeper.properties", "by Kafka's file: on port 2181, one server"),
        ("moldau zookeeper-server-start node1.properties", "one of several, if the file has lines server.1=…"),
    ],
    description="""
        Run Apache ZooKeeper, out of the jars of PySpark: pip install 'moldau[spark]'. It needs Java 17 or newer, in
        JAVA_HOME, on PATH, or from pip install 'moldau[java]'.
    """,
)
