"""The embedded store's tree in an SQLite database.

A commit is one SQLite transaction in the write-ahead log, forced to the disk (`synchronous=FULL`): after a crash at any
point the database holds a prefix of the commits, and every one that was answered. All work is done in one thread of
its own. The database is locked for this process alone: a second broker process on the same directory is refused.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from moldau.cluster.errors import StoreUnavailable
from moldau.cluster.persistence import Snapshot
from moldau.cluster.store import Stat, Znode
from moldau.cluster.tree import Changes

FORMAT = 1
LOCK_WAIT_MS = 500

_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE znode (
    path TEXT PRIMARY KEY, data BLOB, czxid INTEGER, mzxid INTEGER, pzxid INTEGER, ctime_ms INTEGER, mtime_ms INTEGER,
    version INTEGER, cversion INTEGER, ephemeral_owner INTEGER, data_length INTEGER, num_children INTEGER
) WITHOUT ROWID;
CREATE TABLE last_change (zxid INTEGER NOT NULL);
INSERT INTO last_change VALUES (0);
PRAGMA user_version = {FORMAT};
COMMIT;
"""
_PUT = f"INSERT OR REPLACE INTO znode VALUES ({', '.join('?' * (2 + len(Stat._fields)))})"
_DELETE = "DELETE FROM znode WHERE path = ?"

Result = TypeVar("Result")


class SqlitePersistence:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="coordination-store")
        self._connection: sqlite3.Connection | None = None

    async def load(self) -> Snapshot:
        try:
            return await self._run(self._load)
        except BaseException:
            await self.close()
            raise

    def commit(self, last_zxid: int, changes: Changes) -> asyncio.Future[None]:
        return self._run(lambda: self._commit(last_zxid, changes))

    async def close(self) -> None:
        await self._run(self._close)
        self._thread.shutdown(wait=False)

    def _run(self, work: Callable[[], Result]) -> asyncio.Future[Result]:
        return asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _load(self) -> Snapshot:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = self._open()
            (last_zxid,) = connection.execute("SELECT zxid FROM last_change").fetchone()
            znodes = [(row[0], Znode(row[1], Stat(*row[2:]))) for row in connection.execute("SELECT * FROM znode")]
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise StoreUnavailable(f"cannot open {self._path}: {error}") from error
            raise StoreUnavailable(f"{self._path} is in use by another process") from error
        except (sqlite3.DatabaseError, OSError, TypeError) as error:
            raise StoreUnavailable(f"cannot read {self._path}: {error}") from error
        return Snapshot(last_zxid, znodes)

    def _open(self) -> sqlite3.Connection:
        # Autocommit: transactions are begun and ended by the statements of this file. The loop's threads take turns.
        connection = sqlite3.connect(
            self._path, timeout=LOCK_WAIT_MS / 1000, isolation_level=None, check_same_thread=False
        )
        self._connection = connection
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        # An exclusive lock is taken by the first write, and kept.
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("COMMIT")
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        if found == 0:
            connection.executescript(_SCHEMA)
        elif found != FORMAT:
            raise StoreUnavailable(f"{self._path} has format {found}; this version reads format {FORMAT}")
        return connection

    def _commit(self, last_zxid: int, changes: Changes) -> None:
        connection = self._connection
        assert connection is not None
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(
            _PUT, [(path, znode.data, *znode.stat) for path, znode in changes.items() if znode is not None]
        )
        connection.executemany(_DELETE, [(path,) for path, znode in changes.items() if znode is None])
        connection.execute("UPDATE last_change SET zxid = ?", (last_zxid,))
        connection.execute("COMMIT")

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
