"""Bytes over sockets: a server that turns them into requests, and the client side that sends those.

Nouns: `Server`, `Listener`, `Connection`, `Answer`, `Limits` on the serving side, `ClientConnection`,
`Channel`, `Backoff` on the asking side; both read frames (an int32 size, then that many bytes) through
`FramedProtocol`.
Invariants: requests of one connection are dispatched in order and answered in order; every request is
answered exactly once or its connection is gone; every queue, buffer and wait has a bound; nothing but
`loop.create_server`, `loop.create_connection` and their transports is used, so that the same code runs
on uvloop, on asyncio and on the simulated network.
May import: `protocol`, `metrics` and `base`. The server side knows nothing of messages.
"""

from __future__ import annotations
