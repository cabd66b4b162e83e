"""The short way of a record that is only a value: most records are, and here every 100 ns counts.

It takes the steps of `core.append`, `RecordAccumulator.append` and `ProducerBatch.append` in one call, for bytes
without key, headers, timestamp, partition and callback that fit into the batch which is being filled, and goes straight
to the accumulator with one that begins a batch; whatever it does not expect it leaves, untouched, to the general way.
There is a function for each topic. The pieces of a record are put down one after the other and joined when the batch is
built.

What follows from the time and from the size of a batch is found out once in each moment, which is a millisecond, or
ends with the 64th record, whose place in the batch takes a byte more: that one goes the general way, after which a new
moment begins. Within one, clocks that are set back are not heard.
"""

from __future__ import annotations

from collections.abc import Callable

from moldau.base.clock import Clock
from moldau.clients.producer.accumulator import RecordAccumulator, TopicQueues
from moldau.clients.producer.batch import ProducerBatch
from moldau.clients.producer.futures import RecordFuture
from moldau.records.varint import SMALL_VARINTS, encode_varint

# Up to here a number is one byte; below the end of the table it is two.
_ONE_BYTE = 64
PLAIN_BYTES_MAX = len(SMALL_VARINTS)  # longer values are not taken
# What stands before the offset: attributes and the difference of time; and after it: no key, and the value's length.
_TIMES = tuple(b"\0" + varint for varint in SMALL_VARINTS)
_LENGTHS = tuple(b"\1" + varint for varint in SMALL_VARINTS)
_NO_HEADERS = encode_varint(0)
# What so many bytes take with the varint that says how many they are.
_SIZES = tuple(size + len(varint) for size, varint in enumerate(SMALL_VARINTS))
_BODY_BYTES = 5  # of a record beside its value and the value's length, if its numbers have one byte
_FIRST_INDEXES = SMALL_VARINTS[:_ONE_BYTE]
_NS_PER_MS = 1_000_000
_new = object.__new__

PlainAppend = Callable[[bytes], RecordFuture | None]


class PlainFuture(RecordFuture):
    """The future of a record without a key."""

    __slots__ = ()
    key_size = -1


def plain_append(accumulator: RecordAccumulator, topic: TopicQueues, clock: Clock) -> PlainAppend:
    """The function for one topic; it gives None where the general way has to be taken."""
    acquire, release = accumulator.lock.acquire, accumulator.lock.release  # half of what `with` would cost
    now_ns = clock.now_ns
    varints, lengths, sizes, none = SMALL_VARINTS, _LENGTHS, _SIZES, _NO_HEADERS
    future_class, new = PlainFuture, _new

    def append(value: bytes) -> RecordFuture | None:
        length = len(value)
        time_ns = now_ns()
        acquire()
        try:
            batch = topic.sticky_batch
            begins = batch.closed
            if begins:
                index = timestamp = -1
            else:
                if time_ns >= batch.moment_ends_ns:
                    _begin_moment(batch, time_ns // _NS_PER_MS)
                body = sizes[length] + batch.moment_bytes
                records_bytes = batch.records_bytes + sizes[body]
                if records_bytes > batch.room_bytes:
                    return None
                timestamp = batch.moment_ms
                index = batch.count
                batch.parts += (
                    varints[body],
                    batch.moment_part,
                    batch.moment_indexes[index],
                    lengths[length],
                    value,
                    none,
                )
                batch.records_bytes = records_bytes
                batch.count = index + 1
        except IndexError:
            return None  # the tables are for small numbers
        finally:
            release()
        if begins:
            if accumulator.crowded or length >= PLAIN_BYTES_MAX:
                return None
            return accumulator.append(topic, None, time_ns // _NS_PER_MS, None, value, (), None)
        future = new(future_class)  # a call less than with its `__init__`
        future.batch = batch
        future.place = index
        future.timestamp = timestamp
        future.value_size = length
        return future

    return append


def _begin_moment(batch: ProducerBatch, timestamp: int) -> None:
    """Note what the records of this millisecond share; an `IndexError` if they cannot be told in short numbers."""
    delta = timestamp - batch.base_timestamp
    if delta < 0:
        raise IndexError(delta)
    batch.moment_part = _TIMES[delta]
    batch.moment_indexes = _FIRST_INDEXES if batch.count < _ONE_BYTE else SMALL_VARINTS
    batch.moment_bytes = _BODY_BYTES + (delta >= _ONE_BYTE) + (batch.count >= _ONE_BYTE)
    batch.moment_ms = timestamp
    batch.moment_ends_ns = (timestamp + 1) * _NS_PER_MS
    if timestamp > batch.max_timestamp:
        batch.max_timestamp = timestamp
