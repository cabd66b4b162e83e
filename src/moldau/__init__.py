"""Moldau: a Kafka-compatible streaming platform in Python, with its data pipeline on Spark.

    from moldau import Admin, Consumer, Producer, TopicPartition

The clients are imported when they are first asked for; `moldau.aio` has the same for asyncio.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from moldau.base.version import __version__

if TYPE_CHECKING:
    from moldau.clients.admin.plain import Admin
    from moldau.clients.consumer.plain import Consumer
    from moldau.clients.producer.plain import Producer
    from moldau.clients.records import OffsetAndMetadata, TopicPartition

__all__ = ["Admin", "Consumer", "OffsetAndMetadata", "Producer", "TopicPartition", "__version__"]

_MODULES = {
    "Admin": "moldau.clients.admin.plain",
    "Consumer": "moldau.clients.consumer.plain",
    "Producer": "moldau.clients.producer.plain",
    "OffsetAndMetadata": "moldau.clients.records",
    "TopicPartition": "moldau.clients.records",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(_MODULES[name]), name)
