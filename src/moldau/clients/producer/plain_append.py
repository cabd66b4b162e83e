"""The short way of a record that is only a value: most records are, and here every 100 ns counts.

It takes the steps of `core.append`, `RecordAccumulator.append` and `ProducerBatch.append` in one call, for bytes
without key, headers, timestamp, partition and callback that fit into the batch which is being filled; whatever it does
not expect it leaves, untouched, to the general way. There is a function for each topic. The pieces of a record are put
down one after the other and joined when the batch is built.
"""

from __future__ import annotations

from collections.abc import Callable

from moldau.base.clock import Clock
from moldau.clients.producer.accumulator import RecordAccumulator, TopicQueues
from moldau.clients.producer.futures import RecordFuture
from moldau.records.varint import SMALL_VARINTS, SMALL_VARINTS_END, encode_varint

# Up to here a number is one byte; below the end of the table it is two.
_ONE_BYTE = 64
PLAIN_BYTES_MAX = SMALL_VARINTS_END - 16
# What stands before the offset: attributes and the difference of time; and after it: no key, and the value's length.
_TIMES = tuple(b"\0" + varint for varint in SMALL_VARINTS)
_LENGTHS = tuple(b"\1" + varint for varint in SMALL_VARINTS)
_NO_HEADERS = encode_varint(0)
_new_future = tuple.__new__

PlainAppend = Callable[[bytes], RecordFuture | None]


def plain_append(accumulator: RecordAccumulator, topic: TopicQueues, clock: Clock) -> PlainAppend:
    """The function for one topic; it gives None where the general way has to be taken."""
    lock = accumulator.lock
    now_ns = clock.now_ns
    varints, times, lengths = SMALL_VARINTS, _TIMES, _LENGTHS

    def append(value: bytes) -> RecordFuture | None:
        length = len(value)
        if length >= PLAIN_BYTES_MAX:
            return None
        timestamp = now_ns() // 1_000_000
        with lock:
            batch = topic.sticky_batch
            index = batch.count
            delta = timestamp - batch.base_timestamp
            if batch.closed or not 0 < index < SMALL_VARINTS_END or not 0 <= delta < SMALL_VARINTS_END:
                return None
            body = length + (5 if length < _ONE_BYTE else 6) + (1 if index < _ONE_BYTE else 2)
            if delta >= _ONE_BYTE:
                body += 1
            records_bytes = batch.records_bytes + body + (1 if body < _ONE_BYTE else 2)
            if records_bytes > batch.room_bytes:
                return None
            batch.parts += (varints[body], times[delta], varints[index], lengths[length], value, _NO_HEADERS)
            batch.records_bytes = records_bytes
            batch.count = index + 1
            if timestamp > batch.max_timestamp:
                batch.max_timestamp = timestamp
        return _new_future(RecordFuture, (batch, index, timestamp, -1, length))

    return append
