"""The asyncio clients: the same names, settings and errors as in `moldau`, awaited.

from moldau.aio import Producer

async with Producer(bootstrap_servers="localhost:9092") as producer:
    future = await producer.send("topic", value=b"hello")
    print((await future).offset)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from moldau.clients.records import TopicPartition

if TYPE_CHECKING:
    from moldau.clients.admin.admin import Admin
    from moldau.clients.consumer.consumer import Consumer
    from moldau.clients.producer.producer import Producer

__all__ = ["Admin", "Consumer", "Producer", "TopicPartition"]

_MODULES = {
    "Admin": "moldau.clients.admin.admin",
    "Consumer": "moldau.clients.consumer.consumer",
    "Producer": "moldau.clients.producer.producer",
}


def __getattr__(name: str) -> object:
    """Import a client when it is first asked for: who only produces does not pay for consuming."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(_MODULES[name]), name)
