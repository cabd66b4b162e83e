"""Who this broker is: its id, its cluster's, and the addresses that it tells others.

The id is the one in the configuration, else the one in the log directories, else a new one from the coordination store
(B19). A configuration and directories that do not agree are a mix-up that must not be started.
"""

from __future__ import annotations

import socket

from moldau.base.clock import Clock
from moldau.base.config.broker_config import BrokerConfig
from moldau.base.config.listeners import Listener, advertised_listeners_of
from moldau.base.errors import ConfigError
from moldau.base.ids import random_uuid, uuid_to_text
from moldau.cluster.bootstrap import create_paths, find_or_create_cluster_id, generate_broker_id
from moldau.cluster.store import CoordinationSession
from moldau.cluster.znodes.brokers import BrokerRegistration, Endpoint
from moldau.storage.directory_files import MetaProperties

NO_ID = -1


async def find_identity(
    session: CoordinationSession, config: BrokerConfig, stored: MetaProperties | None
) -> MetaProperties:
    """The broker's id and the cluster's; `stored` is what the log directories say, if they say anything."""
    await create_paths(session)
    cluster_id = await find_or_create_cluster_id(session, uuid_to_text(random_uuid()))
    if stored is not None and stored.cluster_id not in (None, cluster_id):
        raise ConfigError(
            f"the log directories belong to cluster {stored.cluster_id}, but this is cluster {cluster_id}: "
            "log.dirs or the coordination store is the wrong one"
        )
    return MetaProperties(await _broker_id(session, config, stored), cluster_id)


async def _broker_id(session: CoordinationSession, config: BrokerConfig, stored: MetaProperties | None) -> int:
    configured = config.integer("broker.id")
    if configured >= 0 and stored is not None and stored.broker_id != configured:
        raise ConfigError(
            f"broker.id is {configured}, but the log directories belong to broker {stored.broker_id}: "
            "if you moved the data, either set the matching broker.id or remove meta.properties from log.dirs"
        )
    if configured >= 0:
        return configured
    if stored is not None:
        return stored.broker_id
    if not config.boolean("broker.id.generation.enable"):
        raise ConfigError("broker.id must be set, since broker.id.generation.enable is false")
    return await generate_broker_id(session, config.integer("reserved.broker.max.id"))


def registration_of(config: BrokerConfig, bound: dict[str, tuple[str, int]], clock: Clock) -> BrokerRegistration:
    """What the broker registers; `bound` has the address of each listener, and so the ports that the system chose."""
    endpoints = tuple(_endpoint(listener, bound) for listener in advertised_listeners_of(config))
    return BrokerRegistration(endpoints, clock.now_ms(), rack=config.text_or_none("broker.rack"))


def _endpoint(listener: Listener, bound: dict[str, tuple[str, int]]) -> Endpoint:
    port = listener.port or bound[listener.name][1]
    return Endpoint(listener.name, listener.host or own_host_name(), port, listener.protocol.value)


def own_host_name() -> str:
    """The name of this machine, if it leads anywhere."""
    name = socket.gethostname()
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return "localhost"
    return name
