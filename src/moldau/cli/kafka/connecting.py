"""Where the cluster is, and the admin operations a tool needs.

A tool loads the families of operations it uses, and not the whole admin client: a quarter of a second is all the time
that a listing of topics may take. Whether anybody listens at the address is tried before anything else, since the
admin client would wait a minute for a broker to come, as it must for programs.
"""

from __future__ import annotations

import contextlib
import socket
from argparse import Namespace
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from moldau.cli.kafka.failures import ToolFailed, WrongUsage
from moldau.cli.kafka.parser import ToolParser

if TYPE_CHECKING:
    from moldau.clients.admin.calls import AdminCalls
    from moldau.clients.admin.operations import Operations

    Family = TypeVar("Family", bound=Operations)

PROBE_S = 5.0
# What is imported is not garbage; looking at it again and again takes a seventh of the time of a listing.
GARBAGE_MIN = 50_000
DEFAULT_PORT = 9092


def add_connection_options(parser: ToolParser, *aliases: str, zookeeper: bool = False) -> None:
    """`--bootstrap-server`, under other names too, and `--command-config`."""
    parser.option("bootstrap-server", "where the cluster is: brokers to connect to", *aliases, metavar="HOST:PORT,…")
    parser.option("command-config", "a file with settings of the admin client", metavar="FILE")
    if zookeeper:
        parser.option(
            "zookeeper",
            "the ZooKeeper that knows the brokers: the way of Kafka before 2.2, for scripts of those days",
            metavar="HOST:PORT[/CHROOT]",
        )


def bootstrap_servers(options: Namespace) -> str:
    """The brokers as given, or as the ZooKeeper knows them; they have to be given somehow."""
    given: str | None = options.bootstrap_server
    connect: str | None = getattr(options, "zookeeper", None)
    if given and connect:
        raise WrongUsage('Option "[bootstrap-server]" can\'t be used with option "[zookeeper]"')
    if connect:
        from moldau.cli.kafka.zookeeper import brokers_of

        return brokers_of(connect)
    if not given:
        raise WrongUsage('Missing required argument "[bootstrap-server]"')
    check_reachable(given)
    return given


def settings_in(path: str | None) -> dict[str, object]:
    """The settings in a properties file, if one is named."""
    if path is None:
        return {}
    from moldau.base.config.properties import load_properties

    return dict(load_properties(Path(path)))


def admin_settings(options: Namespace) -> dict[str, object]:
    return settings_in(options.command_config) | {"bootstrap.servers": bootstrap_servers(options)}


class Connection:
    """One cluster, for the time of a tool; `use(TopicOperations)` are the admin client's methods about topics."""

    def __init__(self, calls: AdminCalls) -> None:
        self._calls = calls

    def use(self, family: type[Family]) -> Family:
        operations = family()
        operations._calls = self._calls  # what Admin itself gives its families
        return operations


def with_connection(options: Namespace, work: Callable[[Connection], Awaitable[int]]) -> int:
    """Do the work of a tool in a loop of its own; its exit code."""
    import gc

    gc.set_threshold(GARBAGE_MIN)
    import asyncio

    settings = admin_settings(options)

    async def run() -> int:
        async with _connected(settings) as connection:
            return await work(connection)

    return asyncio.run(run())


@contextlib.asynccontextmanager
async def _connected(settings: dict[str, object]) -> AsyncIterator[Connection]:
    from moldau.base.config.schema import Scope
    from moldau.clients.admin.calls import AdminCalls
    from moldau.clients.network.cluster import Cluster
    from moldau.clients.settings import client_settings

    cluster = Cluster(client_settings(Scope.ADMIN, settings, {}), allow_auto_topic_creation=False)
    try:
        yield Connection(AdminCalls(cluster))
    finally:
        await cluster.close()


def check_reachable(servers: str) -> None:
    """Fail at once if nobody listens at any of these addresses."""
    failures = []
    for host, port in addresses(servers):
        try:
            socket.create_connection((host, port), PROBE_S).close()
        except OSError as error:
            failures.append(f"{host}:{port} ({error.strerror or error})")
        else:
            return
    raise ToolFailed(
        f"No broker can be reached at {', '.join(failures)}.\n"
        "Is it running, and is that its address? Say --bootstrap-server HOST:PORT; brokers listen on 9092 by default."
    )


def addresses(servers: str) -> Sequence[tuple[str, int]]:
    """`host:port,host` as pairs."""
    found = []
    for each in filter(None, (part.strip() for part in servers.split(","))):
        host, colon, port = each.rpartition(":")
        if not colon:
            host, port = each, str(DEFAULT_PORT)
        if not host or not port.isdecimal() or int(port) > 65535:
            raise ToolFailed(f"Invalid url in bootstrap.servers: {each}; it has to be host:port")
        found.append((host.rpartition("://")[2].strip("[]"), int(port)))
    if not found:
        raise ToolFailed("No resolvable bootstrap urls given in bootstrap.servers; give host:port,host:port")
    return found
