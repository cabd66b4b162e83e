"""What a consumer raises beside the errors of all clients.

MoldauError
├── ApiError
│   ├── CommitFailed             the group has given the partitions to others; what was read may be read again
│   └── InvalidOffset            a position that the log does not have, and no policy that says what then
│       ├── NoOffsetForPartition     nothing committed, and auto.offset.reset=none
│       ├── OffsetOutOfRange         the log begins later or ends earlier
│       └── LogTruncated             what was read has been replaced by other records (KIP-320)
├── RecordDeserializationError   names the record; seek behind it to go on
└── WakeUp                       `wakeup()` was called
"""

from __future__ import annotations

from collections.abc import Mapping

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, MoldauError
from moldau.clients.errors import SerializationError
from moldau.clients.records import OffsetAndMetadata, TopicPartition


class CommitFailed(ApiError):
    """The next poll joins again; to keep up, poll more often, or raise max.poll.interval.ms."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(
            code,
            "offset commit cannot be completed since the consumer is not part of an active group for auto partition "
            "assignment; it is likely that the consumer was kicked out of the group. Poll more often, or raise "
            "max.poll.interval.ms, or lower max.poll.records.",
        )


class InvalidOffset(ApiError):
    """`partitions` names them all."""

    def __init__(self, message: str, partitions: list[TopicPartition]) -> None:
        super().__init__(ErrorCode.OFFSET_OUT_OF_RANGE, message)
        self.partitions = partitions


class NoOffsetForPartition(InvalidOffset):
    """Seek, or set auto.offset.reset."""

    def __init__(self, partitions: list[TopicPartition]) -> None:
        names = ", ".join(map(str, partitions))
        super().__init__(f"undefined offset with no reset policy for partitions: {names}", partitions)


class OffsetOutOfRange(InvalidOffset):
    """`offsets` are the positions that the logs do not have."""

    def __init__(self, offsets: Mapping[TopicPartition, int]) -> None:
        places = ", ".join(f"{partition} at {offset}" for partition, offset in offsets.items())
        super().__init__(f"fetch position out of range with no configured reset policy: {places}", list(offsets))
        self.offsets = dict(offsets)


class LogTruncated(InvalidOffset):
    """`divergent` is where the log that was read and the log that is there part, if that is known."""

    def __init__(
        self, positions: Mapping[TopicPartition, int], divergent: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        places = ", ".join(f"{partition} before {offset}" for partition, offset in positions.items())
        super().__init__(f"detected log truncation with no configured reset policy: {places}", list(positions))
        self.divergent = dict(divergent)


class RecordDeserializationError(SerializationError):
    """The records before this one have been returned; each further poll raises again until it is passed by."""

    def __init__(self, partition: TopicPartition, offset: int, cause: SerializationError) -> None:
        super().__init__(
            f"{cause}; it is the record at offset {offset} of {partition}. "
            "To go on, seek past it: seek(partition, offset + 1)"
        )
        self.partition = partition
        self.offset = offset


class WakeUp(MoldauError):
    """Raised by the call that was waiting, or by the next one that would wait."""
