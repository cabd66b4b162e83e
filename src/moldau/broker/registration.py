"""The registration of a broker in the coordination store: alive for as long as its session is.

After a crash the old registration stays until its session expires. Kafka gives up in that case; here the broker says
so, waits for it, and goes on.
"""

from __future__ import annotations

import asyncio
import logging

from moldau.base.errors import ConfigError
from moldau.cluster.errors import NodeExists
from moldau.cluster.store import CoordinationSession, CreateMode, WatchEvent
from moldau.cluster.znodes.brokers import BrokerRegistration
from moldau.cluster.znodes.layout import broker_path

logger = logging.getLogger(__name__)


async def register(
    session: CoordinationSession, broker_id: int, registration: BrokerRegistration, timeout_ms: int
) -> int:
    """Register, and return the broker's epoch; `ConfigError` if another broker has this id and stays."""
    path, data = broker_path(broker_id), registration.encode()
    while True:
        try:
            await session.create(path, data, CreateMode.EPHEMERAL)
        except NodeExists:
            await _wait_for_expiry(session, broker_id, timeout_ms)
            continue
        stat = await session.exists(path)
        assert stat is not None, "an ephemeral lives as long as its session"
        if stat.ephemeral_owner == session.session_id:
            logger.info("registered broker %d at %s", broker_id, ", ".join(map(str, registration.endpoints)))
            return stat.czxid


async def _wait_for_expiry(session: CoordinationSession, broker_id: int, timeout_ms: int) -> None:
    gone = asyncio.Event()

    def changed(_event: WatchEvent) -> None:
        gone.set()

    stat = await session.exists(broker_path(broker_id), changed)
    if stat is None:
        return
    logger.warning("broker %d is registered already; waiting up to %d ms for that session's end", broker_id, timeout_ms)
    try:
        async with asyncio.timeout(timeout_ms / 1000):
            await gone.wait()
    except TimeoutError:
        raise ConfigError(
            f"a broker with id {broker_id} is running already: stop it, or give this one another broker.id"
        ) from None
