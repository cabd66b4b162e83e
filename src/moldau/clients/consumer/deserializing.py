"""The last step before records are given out: keys and values to what the user wants, and interceptors.

A record that cannot be deserialized stops what comes after it: what came before is given out, and the position goes
back to it, so that the next poll meets it first and raises, until the user seeks past it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import NamedTuple

from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.clients.consumer.errors import RecordDeserializationError
from moldau.clients.consumer.listener import ConsumerInterceptor
from moldau.clients.errors import SerializationError
from moldau.clients.records import OffsetAndMetadata, TopicPartition
from moldau.clients.serialization import deserializer_of
from moldau.clients.settings import ClientSettings

logger = logging.getLogger(__name__)

_new_tuple = tuple.__new__


class Finished(NamedTuple):
    """Records to give out, and those that were not reached with the reason why."""

    records: list[ConsumerRecord]
    left: list[ConsumerRecord]
    error: RecordDeserializationError | None = None


class RecordFinisher:
    """The deserializers and interceptors of one consumer. To be used by the thread that polls."""

    def __init__(self, settings: ClientSettings) -> None:
        self._key = deserializer_of(settings, "key.deserializer")
        self._value = deserializer_of(settings, "value.deserializer")
        self._interceptors: list[ConsumerInterceptor] = []
        for plugin in settings.plugins("interceptor.classes", {}):
            self._interceptors.append(plugin)  # type: ignore[arg-type]  # whatever has the methods will do

    @property
    def has_interceptors(self) -> bool:
        return bool(self._interceptors)

    def finish(self, records: list[ConsumerRecord]) -> Finished:
        finished = Finished(records, [])
        if self._key is not None or self._value is not None:
            finished = self._deserialized(records)
        for interceptor in self._interceptors:
            try:
                shown = interceptor.on_consume(finished.records)
            except Exception:
                logger.exception("an interceptor failed in on_consume")
            else:
                finished = finished._replace(records=shown)
        return finished

    def _deserialized(self, records: list[ConsumerRecord]) -> Finished:
        key_of, value_of = self._key or _as_it_is, self._value or _as_it_is
        done: list[ConsumerRecord] = []
        try:
            for topic, partition, offset, timestamp, kind, key, value, headers, epoch in records:
                fields = (topic, partition, offset, timestamp, kind, key_of(topic, key), value_of(topic, value))
                done.append(_new_tuple(ConsumerRecord, (*fields, headers, epoch)))
        except SerializationError as error:
            failed = records[len(done)]
            named = RecordDeserializationError(TopicPartition(failed.topic, failed.partition), failed.offset, error)
            named.__cause__ = error
            return Finished(done, records[len(done) :], named)
        return Finished(done, [])

    def committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        for interceptor in self._interceptors:
            try:
                interceptor.on_commit(offsets)
            except Exception:
                logger.exception("an interceptor failed in on_commit")

    def close(self) -> None:
        for each in (*self._interceptors, self._key, self._value):
            close = getattr(each, "close", None)
            try:
                if close is not None:
                    close()
            except Exception:
                logger.exception("closing %r failed", each)


def _as_it_is(_topic: str, data: bytes | None) -> bytes | None:
    return data
