"""A cable that can be cut: a TCP proxy to a port of this machine, in a thread of its own."""

from __future__ import annotations

import selectors
import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

_CHUNK = 65536
_TURN_S = 0.02


class CutProxy:
    """`cut` breaks all connections and lets nobody in until `mend`; requests or answers can be held back, too.

    What is held back when the cable is cut is lost.
    """

    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._lock = threading.Lock()
        self._pairs: dict[socket.socket, tuple[socket.socket, bool]] = {}
        self._held: set[bool] = set()
        self._is_cut = False
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closed = True
        self._thread.join()
        self.cut()
        self._listener.close()

    def cut(self) -> None:
        with self._lock:
            self._is_cut = True
            for end in self._pairs:
                end.close()
            self._pairs.clear()
            self._held.clear()

    def mend(self) -> None:
        with self._lock:
            self._is_cut = False

    def hold_requests(self) -> None:
        with self._lock:
            self._held.add(True)

    def hold_answers(self) -> None:
        with self._lock:
            self._held.add(False)

    def _run(self) -> None:
        while not self._is_closed:
            with self._lock:
                readable = [end for end, (_, is_client) in self._pairs.items() if is_client not in self._held]
            for end in _readable([self._listener, *readable]):
                with self._lock:
                    if end is self._listener:
                        self._accept()
                    elif end in self._pairs:
                        self._forward(end)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        try:
            if self._is_cut:
                raise ConnectionError
            server = socket.create_connection(self._target)
        except OSError:
            client.close()
            return
        self._pairs[client], self._pairs[server] = (server, True), (client, False)

    def _forward(self, end: socket.socket) -> None:
        other, _ = self._pairs[end]
        with suppress(OSError):
            data = end.recv(_CHUNK)
            if data:
                other.sendall(data)
                return
        for each in (end, other):
            del self._pairs[each]
            each.close()


def _readable(ends: list[socket.socket]) -> list[socket.socket]:
    with selectors.DefaultSelector() as selector:
        for end in ends:
            with suppress(ValueError, OSError):  # cut meanwhile
                selector.register(end, selectors.EVENT_READ)
        return [key.fileobj for key, _ in selector.select(_TURN_S) if isinstance(key.fileobj, socket.socket)]
