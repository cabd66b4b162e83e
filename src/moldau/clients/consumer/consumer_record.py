"""A record as a consumer gives it."""

from __future__ import annotations

from typing import Any, NamedTuple

from moldau.records.record import Headers, TimestampType


class ConsumerRecord(NamedTuple):
    """One record and where it is from; `timestamp` is in milliseconds, -1 if it has none.

    A tuple, since one is made for each record and nothing with names is cheaper. `key` and `value` are bytes, or what
    the deserializers made of them; headers are pairs of name and bytes.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: TimestampType
    key: Any
    value: Any
    headers: Headers = ()
    leader_epoch: int | None = None
