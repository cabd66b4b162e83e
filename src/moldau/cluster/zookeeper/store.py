"""The coordination store on a ZooKeeper ensemble: sessions, all below the chroot."""

from __future__ import annotations

from moldau.cluster.bootstrap import create_path
from moldau.cluster.zookeeper.ensemble import Ensemble
from moldau.cluster.zookeeper.options import ZooKeeperOptions
from moldau.cluster.zookeeper.server import ZooKeeperServer
from moldau.cluster.zookeeper.session import ZooKeeperSession


class ZooKeeperStore:
    """`server` is one of our own, which is stopped when the store is closed."""

    def __init__(self, ensemble: Ensemble, options: ZooKeeperOptions, server: ZooKeeperServer | None = None) -> None:
        self._ensemble = ensemble
        self._server = server
        self._options = options
        self._sessions: list[ZooKeeperSession] = []
        self._chroot_exists = not ensemble.chroot

    async def open_session(self, timeout_ms: int) -> ZooKeeperSession:
        if not self._chroot_exists:
            await self._create_chroot(timeout_ms)
            self._chroot_exists = True
        session = await self._connect(self._ensemble, timeout_ms)
        self._sessions = [each for each in self._sessions if not each.state.is_over]
        self._sessions.append(session)
        return session

    async def close(self) -> None:
        sessions, self._sessions = self._sessions, []
        try:
            for session in sessions:
                await session.close()
        finally:
            if self._server is not None:
                await self._server.stop()

    async def _create_chroot(self, timeout_ms: int) -> None:
        """Below it nothing can be created, so this is done in a short session at the root, as Kafka does."""
        outside = await self._connect(Ensemble(self._ensemble.servers), timeout_ms)
        try:
            await create_path(outside, self._ensemble.chroot)
        finally:
            await outside.close()

    async def _connect(self, ensemble: Ensemble, timeout_ms: int) -> ZooKeeperSession:
        session = ZooKeeperSession(ensemble, timeout_ms, self._options)
        limit_ms = self._options.connection_timeout_ms
        await session.connect(timeout_ms if limit_ms is None else limit_ms)
        return session
