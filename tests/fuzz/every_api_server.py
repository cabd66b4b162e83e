"""A server that decodes every request of the protocol and answers with an empty response: something to throw bytes at.

Prints its port, then its memory in KiB for every line that it reads, and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import sys
from pathlib import Path
from typing import Any

import uvloop

from moldau.broker.dispatcher import Dispatcher
from moldau.broker.handlers import Registration, registration
from moldau.net.limits import Limits
from moldau.net.server import Listener, Server
from moldau.protocol.api import ApiKey, request_class, response_class


class EveryApi:
    """A node that serves every version of every API."""

    def __init__(self) -> None:
        self.registrations = {key: empty(key) for key in ApiKey}


def empty(key: ApiKey) -> Registration:
    response = response_class(key)
    return registration(key, str(request_class(key).VERSIONS), lambda *_: response(), lambda *_: response())


def memory_kib() -> int:
    """What the process has in memory now; its peak, where the system does not tell."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(statm.read_text().split()[1]) * resource.getpagesize() // 1024


async def serve(limits: Limits) -> None:
    node = EveryApi()
    server = Server([Listener("PLAINTEXT", "127.0.0.1", 0)], Dispatcher(node, node.registrations), limits)
    await server.start()
    print(server.addresses["PLAINTEXT"][1], flush=True)
    lines: asyncio.StreamReader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while await lines.readline():  # every line asks for the memory in use
        print(memory_kib(), flush=True)
    await server.drain(1000)


def main(arguments: list[str]) -> None:
    logging.basicConfig(format="%(levelname)s %(message)s", stream=sys.stderr)
    settings: dict[str, Any] = {name: int(value) for name, value in (text.split("=") for text in arguments)}
    uvloop.run(serve(Limits(**settings)))


if __name__ == "__main__":
    main(sys.argv[1:])
