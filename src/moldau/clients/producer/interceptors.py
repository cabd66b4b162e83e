"""Code of the user's that sees every record before it is sent, and every acknowledgement.

An interceptor has any of `on_send(record) -> record`, `on_acknowledgement(metadata, error)`, `configure(settings)` and
`close()`. Each sees what the one before it returned; what one raises is logged and changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from moldau.clients.producer.batch import Callback
from moldau.clients.records import RecordMetadata

logger = logging.getLogger(__name__)


class ProducerRecord(NamedTuple):
    """A record as it was given to `send`."""

    topic: str
    value: Any = None
    key: Any = None
    headers: Any = None
    partition: int | None = None
    timestamp: int | None = None


class Interceptors:
    """The chain, in the order of `interceptor.classes`."""

    def __init__(self, chain: Sequence[object]) -> None:
        self._on_send = [each.on_send for each in chain if hasattr(each, "on_send")]
        self._on_acknowledgement = [each.on_acknowledgement for each in chain if hasattr(each, "on_acknowledgement")]
        self._close = [each.close for each in chain if hasattr(each, "close")]

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        for each in self._on_send:
            try:
                record = each(record)
            except Exception:
                logger.exception("A producer interceptor raised in on_send; the record goes on as it was")
        return record

    def on_acknowledgement(self, metadata: RecordMetadata | None, error: Exception | None) -> None:
        for each in self._on_acknowledgement:
            try:
                each(metadata, error)
            except Exception:
                logger.exception("A producer interceptor raised in on_acknowledgement")

    def before(self, callback: Callback | None) -> Callback:
        """A callback that tells the interceptors first."""

        def call(metadata: RecordMetadata | None, error: Exception | None) -> None:
            self.on_acknowledgement(metadata, error)
            if callback is not None:
                callback(metadata, error)

        return call

    def close(self) -> None:
        for close in self._close:
            try:
                close()
            except Exception:
                logger.exception("A producer interceptor raised in close")
