"""The notifications below /config/changes: how a broker hears that somebody's settings have changed.

Whoever writes settings adds a sequential znode that names the entity. Every broker watches the folder, reads the
notifications it has not seen, in order, and then the settings themselves. A notification carries no settings, so that
one too many does no harm. Every broker deletes those that are older than 15 minutes, as Kafka does: by then all have
seen them, or will read everything when they start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from moldau.base.clock import Clock
from moldau.base.supervision import OnFailure, Supervisor
from moldau.broker.config_entities import Entity
from moldau.cluster.errors import ConnectionLoss, CoordinationError, MalformedZnode, NoNode, SessionExpired
from moldau.cluster.store import CoordinationSession, SessionState, WatchEvent
from moldau.cluster.znodes.configs import decode_config_change
from moldau.cluster.znodes.layout import CONFIG_CHANGE_PREFIX, CONFIG_CHANGES, sequence_of

CHANGE_LIFE_MS: Final = 15 * 60 * 1000
RETRY_S: Final = 1.0
_NAME_PREFIX: Final = CONFIG_CHANGE_PREFIX.rpartition("/")[2]

OnChange = Callable[[Entity], Awaitable[None]]

logger = logging.getLogger(__name__)


class ConfigChanges:
    """Calls `on_change` for each notification after `start`, one at a time."""

    def __init__(
        self, session: CoordinationSession, on_change: OnChange, *, clock: Clock, supervisor: Supervisor
    ) -> None:
        self._session = session
        self._on_change = on_change
        self._clock = clock
        self._supervisor = supervisor
        self._last_seen = -1
        self._heard = asyncio.Event()
        session.add_listener(self._session_changed)

    async def start(self) -> None:
        """From here on nothing is missed; whoever reads settings after this has what was written before."""
        names = await self._names()
        self._last_seen = sequence_of(names[-1]) if names else -1
        self._supervisor.start("config changes", self._follow, OnFailure.RESTART)

    async def _follow(self) -> None:
        while True:
            self._heard.clear()
            try:
                await self._catch_up()
            except SessionExpired:
                logger.info("the session has expired; changes of settings are looked at again with the next one")
            except ConnectionLoss as error:
                logger.info("%s; changes of settings are looked at again in %g s", error, RETRY_S)
                await asyncio.sleep(RETRY_S)
                continue
            await self._heard.wait()

    async def _catch_up(self) -> None:
        names = await self._names()
        for name in names:
            if sequence_of(name) > self._last_seen:
                await self._process(name)
                self._last_seen = sequence_of(name)
        await self._purge(names)

    async def _names(self) -> list[str]:
        """All notifications in order, with a watch for the next."""
        names = await self._session.children(CONFIG_CHANGES, self._hear)
        valid = [name for name in names if name.startswith(_NAME_PREFIX) and name[len(_NAME_PREFIX) :].isdigit()]
        return sorted(valid, key=sequence_of)

    def _hear(self, _event: WatchEvent) -> None:
        self._heard.set()

    def _session_changed(self, state: SessionState) -> None:
        if state is SessionState.CONNECTED:
            self._heard.set()  # the watch may have gone with a session that has expired

    async def _process(self, name: str) -> None:
        path = f"{CONFIG_CHANGES}/{name}"
        try:
            entity_type, _, entity = decode_config_change(path, (await self._session.get(path)).data).partition("/")
        except NoNode:
            return
        except MalformedZnode as error:
            logger.warning("the notification %s is ignored: %s", error.path, error.problem)
            return
        try:
            await self._on_change(Entity(entity_type, entity))
        except CoordinationError:
            raise
        except Exception:
            logger.exception("the new settings of %s %s could not be put into force", entity_type, entity)

    async def _purge(self, names: list[str]) -> None:
        """Delete the old ones. They are in the order of their age, so the first young one ends the search."""
        for name in names:
            path = f"{CONFIG_CHANGES}/{name}"
            stat = await self._session.exists(path)
            if stat is None:
                continue
            if self._clock.now_ms() - stat.ctime_ms <= CHANGE_LIFE_MS:
                break
            try:
                await self._session.delete(path)
            except NoNode:
                continue
