"""One session of the kazoo client, and the border between its thread and the event loop.

kazoo reads its socket in a thread, and would hand answers to one more thread and events to another, so that nobody
could say what came first. Here its handler calls back at once, in the reading thread, and each callback does nothing
but post to the loop: what the loop gets is in the order in which it was read.

kazoo forgets watches when a connection breaks. The link remembers them, and takes them along to the next connection
before anything else is asked there, as ZooKeeper's own client does; the server then tells what was missed meanwhile.

When a session has expired kazoo would begin another under the same roof, and carry out there what was meant for the
old one. The link stops it instead: a session that is over stays so.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from errno import EBADF
from functools import partial
from itertools import islice
from math import ceil
from select import POLLIN, POLLOUT, poll
from socket import socket
from typing import Any

from kazoo.client import KazooClient
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol import serialization
from kazoo.protocol.states import EventType as KazooEventType
from kazoo.protocol.states import KazooState, KeeperState
from kazoo.retry import KazooRetry

from moldau.cluster.inbox import Inbox
from moldau.cluster.store import EventType, SessionState, WatchEvent
from moldau.cluster.zookeeper.requests import SetWatches

logger = logging.getLogger(__name__)
kazoo_logger = logging.getLogger(f"{__name__}.kazoo")

RECONNECT_MS = 100
RECONNECT_MS_MAX = 1_000
WATCHES_PER_REQUEST = 500
"""At once set anew: below ZooKeeper's limit of 1 MB a request, with topics of the longest names."""
CLOSE_MS_MAX = 5_000

_EVENTS = {
    KazooEventType.CREATED: EventType.CREATED,
    KazooEventType.DELETED: EventType.DELETED,
    KazooEventType.CHANGED: EventType.DATA_CHANGED,
    KazooEventType.CHILD: EventType.CHILDREN_CHANGED,
}

OnAnswer = Callable[[Any, Exception | None], None]


class _InThreadHandler(SequentialThreadingHandler):  # type: ignore[misc]
    """Callbacks run in the thread that has something to call back for.

    It waits for sockets by `poll`: kazoo's own way makes and closes an epoll object for each wait, and spends more than
    half of its time on that.
    """

    running = False

    def start(self) -> None:
        """There are no other threads."""

    def stop(self) -> None:
        """Nor is there anything to stop."""

    def dispatch_callback(self, callback: Any) -> None:
        callback.func(*callback.args)

    def select(
        self, readers: Sequence[socket], writers: Sequence[socket], _others: Sequence[socket], timeout_s: float
    ) -> tuple[list[socket], list[socket], list[socket]]:
        waiting = poll()
        for flag, sockets in ((POLLIN, readers), (POLLOUT, writers)):
            for each in sockets:
                if each.fileno() < 0:
                    raise OSError(EBADF, "the socket is closed")
                waiting.register(each, flag)
        # One that is broken is ready: reading or writing tells what is wrong with it.
        ready = {descriptor for descriptor, _ in waiting.poll(ceil(timeout_s * 1000))}
        found = [[each for each in sockets if each.fileno() in ready] for sockets in (readers, writers)]
        return found[0], found[1], []


class KazooLink:
    """`on_state` and `on_event` are called in the event loop, through `inbox`."""

    def __init__(
        self,
        servers: tuple[str, ...],
        timeout_ms: int,
        credentials: tuple[str, ...],
        inbox: Inbox,
        on_state: Callable[[SessionState], None],
        on_event: Callable[[WatchEvent], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._inbox = inbox
        self._on_state = on_state
        self._on_event = on_event
        self._data: set[str] = set()
        self._absent: set[str] = set()
        self._children: set[str] = set()
        self._was_connected = False
        self._closing = False
        self._closed = asyncio.Event()
        if kazoo_logger.level == logging.NOTSET:
            kazoo_logger.setLevel(logging.ERROR)  # what matters of the connection is told by the session
        handler = _InThreadHandler()
        self._client = KazooClient(
            ",".join(servers),
            timeout=timeout_ms / 1000,
            handler=handler,
            auth_data={("digest", each) for each in credentials},
            connection_retry=KazooRetry(
                max_tries=-1,
                delay=RECONNECT_MS / 1000,
                backoff=2,
                max_delay=RECONNECT_MS_MAX / 1000,
                sleep_func=handler.sleep_func,
            ),
            logger=kazoo_logger,
        )
        self._client.add_listener(self._state_changed)

    @property
    def identity(self) -> tuple[int, bytes]:
        """The session's id and password, once it is connected."""
        session_id, password = self._client.client_id
        return session_id, password

    def start(self) -> None:
        """Begin to connect; `on_state` tells what comes of it."""
        self._client.start_async()

    def exists(self, path: str, watch: bool, on_answer: OnAnswer) -> None:
        self.submit(serialization.Exists(path, self._heard if watch else None), on_answer)

    def get(self, path: str, watch: bool, on_answer: OnAnswer) -> None:
        self.submit(serialization.GetData(path, self._heard if watch else None), on_answer)

    def children(self, path: str, watch: bool, on_answer: OnAnswer) -> None:
        self.submit(serialization.GetChildren(path, self._heard if watch else None), on_answer)

    def submit(self, request: Any, on_answer: OnAnswer) -> None:
        """Ask for something; without a connection it waits for the next one."""
        answer = self._client.handler.async_result()
        answer.rawlink(partial(self._answered, request, on_answer))
        self._client._call(request, answer)

    async def close(self) -> bool:
        """End the session; False if that takes too long, in which case it expires by itself."""
        self.begin_to_close()
        try:
            async with asyncio.timeout(CLOSE_MS_MAX / 1000):
                await self._closed.wait()
        except TimeoutError:
            return False
        return True

    def begin_to_close(self) -> None:
        """kazoo waits for its thread to end, so this takes a thread of its own."""
        if not self._closing:
            self._closing = True
            threading.Thread(target=self._close, name="zookeeper-close", daemon=True).start()

    def _close(self) -> None:
        try:
            self._client.stop()
            self._client._connection.stop(CLOSE_MS_MAX / 1000)
            self._client.close()
        except Exception:
            logger.exception("kazoo does not stop")
        with suppress(RuntimeError):  # the loop did not wait for this
            self._loop.call_soon_threadsafe(self._closed.set)

    # -- in kazoo's thread

    def _post(self, put: Callable[[Callable[[], None]], None], deliver: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody wants to know any more
            self._loop.call_soon_threadsafe(put, deliver)

    def _answered(self, request: Any, on_answer: OnAnswer, result: Any) -> None:
        if result.exception is None and getattr(request, "watcher", None) is not None:
            self._remember(request, result.value)
        self._post(self._inbox.put_answer, partial(on_answer, result.value, result.exception))

    def _remember(self, request: Any, answer: Any) -> None:
        if isinstance(request, serialization.GetChildren):
            self._children.add(request.path)
        elif answer is None:
            self._absent.add(request.path)
        else:
            self._data.add(request.path)

    def _heard(self, event: Any) -> None:
        if event.type not in _EVENTS:
            return  # kazoo tells every watch that the connection is lost
        if event.type != KazooEventType.CHILD:
            self._data.discard(event.path)
            self._absent.discard(event.path)
        if event.type in (KazooEventType.CHILD, KazooEventType.DELETED):
            self._children.discard(event.path)
        self._post(self._inbox.put_event, partial(self._on_event, WatchEvent(_EVENTS[event.type], event.path)))

    def _state_changed(self, state: str) -> None:
        if state == KazooState.CONNECTED:
            entered = SessionState.CONNECTED
            if self._was_connected:
                self._take_watches_along()
            self._was_connected = True
        elif state == KazooState.SUSPENDED:
            entered = SessionState.SUSPENDED
        else:
            self._client._stopped.set()
            is_closed = self._client.client_state == KeeperState.CLOSED
            entered = SessionState.CLOSED if is_closed else SessionState.EXPIRED
        self._post(self._inbox.put_event, partial(self._on_state, entered))

    def _take_watches_along(self) -> None:
        client = self._client
        for path in self._data | self._absent:
            client._data_watchers[path].add(self._heard)
        for path in self._children:
            client._child_watchers[path].add(self._heard)
        for request in reversed(list(self._watches())):  # each goes to the front of what waits to be sent
            client._queue.appendleft((request, client.handler.async_result()))
            client._connection._write_sock.send(b"\0")

    def _watches(self) -> Iterator[SetWatches]:
        kinds = [iter(sorted(paths)) for paths in (self._data, self._absent, self._children)]
        while any(taken := [list(islice(paths, WATCHES_PER_REQUEST)) for paths in kinds]):
            yield SetWatches(self._client.last_zxid, *taken)
