"""Which coordination store a process uses: the embedded one, unless `zookeeper.connect` names an ensemble.

`auto` in its place is a ZooKeeper on this machine: the one that serves on port 2181 already, else one of our own, which
ends with this process. Another port is written behind it, as in `auto:12181`.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from moldau.base.clock import SystemClock
from moldau.base.config.broker_config import BrokerConfig
from moldau.base.errors import ConfigError
from moldau.cluster.embedded import EmbeddedStore
from moldau.cluster.sqlite import SqlitePersistence
from moldau.cluster.store import CoordinationStore

logger = logging.getLogger(__name__)

AUTO = "auto"
HOST = "127.0.0.1"
STORE_FILE = "coordination.sqlite"
ZOOKEEPER_FOLDER = "zookeeper"
DIGEST_VARIABLE = "MOLDAU_ZOOKEEPER_DIGEST"
"""Credentials of ZooKeeper's scheme `digest`, as user:password; Kafka has no setting for them."""


async def open_store(config: BrokerConfig, directory: Path) -> CoordinationStore:
    """`directory` is where a store of our own keeps its data."""
    connect = config.text_or_none("zookeeper.connect")
    if not connect:
        return await EmbeddedStore.open(SqlitePersistence(directory / STORE_FILE), SystemClock())
    return await _open_zookeeper(config, connect, directory)


async def _open_zookeeper(config: BrokerConfig, connect: str, directory: Path) -> CoordinationStore:
    # Loaded only where a ZooKeeper is used: kazoo is an extra, and costs time and memory.
    try:
        from moldau.cluster.zookeeper.ensemble import Ensemble
        from moldau.cluster.zookeeper.options import ZooKeeperOptions
        from moldau.cluster.zookeeper.server import DEFAULT_PORT, ZooKeeperServer, serving_mode
        from moldau.cluster.zookeeper.store import ZooKeeperStore
    except ModuleNotFoundError as error:
        raise ConfigError(f"zookeeper.connect needs {error.name}: run: pip install 'moldau[cluster]'") from error

    credentials = os.environ.get(DIGEST_VARIABLE)
    if config.boolean("zookeeper.set.acl") and not credentials:
        raise ConfigError(f"zookeeper.set.acl needs credentials: set {DIGEST_VARIABLE} to user:password")
    options = ZooKeeperOptions(
        connection_timeout_ms=config.integer_or_none("zookeeper.connection.timeout.ms"),
        in_flight_requests_max=config.integer("zookeeper.max.in.flight.requests"),
        digest_credentials=(credentials,) if credentials else (),
        set_acl=config.boolean("zookeeper.set.acl"),
    )
    word, _, wanted_port = connect.partition(":")
    if word != AUTO:
        return ZooKeeperStore(Ensemble.parse(connect), options)
    if wanted_port and not wanted_port.isdecimal():
        raise ConfigError(f"zookeeper.connect is {connect!r}: behind auto comes the number of a port, or nothing")
    port = int(wanted_port or DEFAULT_PORT)
    if port and await serving_mode(HOST, port) is not None:
        logger.info("using the ZooKeeper that serves on %s:%d already", HOST, port)
        return ZooKeeperStore(Ensemble((f"{HOST}:{port}",)), options)
    server = ZooKeeperServer.with_defaults(directory / ZOOKEEPER_FOLDER, HOST, port)
    await server.start()
    return ZooKeeperStore(Ensemble((server.address,)), options, server)
