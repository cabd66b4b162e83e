"""`--zookeeper`: the brokers that are registered in a ZooKeeper.

Before 2.2 Kafka's tools did their work in ZooKeeper itself. Here it is asked for the brokers only, and everything else
goes through them, so that the scripts of those days work as they are written.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from moldau.base.errors import ConfigError
from moldau.cli.kafka.failures import ToolFailed

CONNECT_S = 6.0
BROKERS_MAX = 3


@contextlib.contextmanager
def connected(connect: str) -> Iterator[Any]:
    """A client of the ZooKeeper at `connect`."""
    try:
        from kazoo.client import KazooClient
        from kazoo.exceptions import KazooException
        from kazoo.handlers.threading import KazooTimeoutError
    except ModuleNotFoundError as error:
        raise ConfigError("--zookeeper needs kazoo: run: pip install 'moldau[cluster]'") from error
    from moldau.cluster.zookeeper.ensemble import Ensemble

    client = KazooClient(str(Ensemble.parse(connect)), timeout=CONNECT_S)
    try:
        client.start(CONNECT_S)
        yield client
    except (KazooTimeoutError, KazooException) as error:
        raise ToolFailed(
            f"No ZooKeeper answers at {connect}.\n"
            "A broker with the embedded store has none: name the broker, as in --bootstrap-server localhost:9092."
        ) from error
    finally:
        client.stop()
        client.close()


def text_at(client: Any, path: str) -> str | None:
    """The text of a node, if there is one."""
    return client.get(path)[0].decode() if client.exists(path) else None


def brokers_of(connect: str) -> str:
    """Brokers of the cluster below `connect`, as `host:port,…`."""
    with connected(connect) as client:
        names = client.get_children("/brokers/ids") if client.exists("/brokers/ids") else []
        found = [_address(int(name), client.get(f"/brokers/ids/{name}")[0]) for name in sorted(names)]
    servers = [each for each in found if each is not None]
    if not servers:
        raise ToolFailed(f"The ZooKeeper at {connect} knows of no broker with a PLAINTEXT listener.")
    return ",".join(servers[:BROKERS_MAX])


def _address(broker_id: int, content: bytes) -> str | None:
    """The first endpoint of a registration that needs no credentials, which this flag has no way to give."""
    from moldau.cluster.znodes.brokers import BrokerRegistration

    registration = BrokerRegistration.decode(broker_id, content)
    plain = (each for each in registration.endpoints if each.security_protocol == "PLAINTEXT")
    return next((f"{each.host}:{each.port}" for each in plain), None)
