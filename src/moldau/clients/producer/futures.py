"""What `send` gives: the fate of one record.

A batch has one fate, so a future is only its batch and a place in it: one is made per record. Whether it is done, who
waits and who is to be called is kept by the batch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any, Self

from moldau.clients.errors import IllegalState, TimedOut
from moldau.clients.producer.batch import ProducerBatch
from moldau.clients.records import RecordMetadata


class RecordFuture:
    """As `concurrent.futures.Future`, and awaitable in the loop of an asyncio producer. It cannot be cancelled."""

    __slots__ = ("batch", "key_size", "place", "timestamp", "value_size")

    def __init__(self, batch: ProducerBatch, place: int, timestamp: int, key_size: int, value_size: int) -> None:
        self.batch = batch
        self.place = place
        self.timestamp = timestamp
        self.key_size = key_size
        self.value_size = value_size

    def done(self) -> bool:
        return self.batch.resolve(self.place)[0].done

    def running(self) -> bool:
        return not self.done()

    def cancel(self) -> bool:
        return False

    def cancelled(self) -> bool:
        return False

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Wait, at most `timeout` seconds, and say where the record went; or raise why it went nowhere."""
        failure = self.exception(timeout)
        if failure is not None:
            raise failure
        return self._metadata()

    def exception(self, timeout: float | None = None) -> Exception | None:
        """Wait, at most `timeout` seconds, and say why the record went nowhere; None if it is written."""
        batch, _ = self.batch.resolve(self.place)
        while not batch.done:
            if not batch.wait(timeout):
                waited_for = f"the record for {batch.topic_partition} was not acknowledged within {timeout} s"
                raise TimedOut(f"{waited_for}; it is still on its way")
            batch, _ = self.batch.resolve(self.place)
        return batch.error

    def add_done_callback(self, callback: Callable[[Self], object]) -> None:
        """Call back when it is done, in the producer's loop; at once if it is."""
        batch, index = self.batch.resolve(self.place)
        place = (self.timestamp, self.key_size, self.value_size)
        batch.call_when_done(index, lambda _metadata, _error: callback(self), place)

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        batch, _ = self.batch.resolve(self.place)
        if batch.hurry is not None and not batch.closed:
            for _ in range(batch.hurry()):
                yield  # a turn of the loop, which does not sleep meanwhile
                if batch.done or batch.pieces:
                    break
            batch, _ = self.batch.resolve(self.place)
        while not batch.done:
            if batch.waiters is None:
                raise IllegalState("only futures of moldau.aio can be awaited; call result()")
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            batch.waiters.append(waiter)
            yield from waiter
            batch, _ = self.batch.resolve(self.place)
        if batch.error is not None:
            raise batch.error
        return self._metadata()

    def _metadata(self) -> RecordMetadata:
        batch, index = self.batch.resolve(self.place)
        return batch.metadata(index, self.timestamp, self.key_size, self.value_size)

    def __repr__(self) -> str:
        state = "done" if self.done() else "pending"
        return f"<RecordFuture {self.batch.topic_partition} {state}>"
