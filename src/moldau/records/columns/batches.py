"""Many batches at once: their headers as columns, and where the records of each are.

What `RecordBatch` reads of one batch is read here of all. Records that are not compressed stay where they are, so that
nothing is copied before it is a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moldau.base.errors import CorruptRecord
from moldau.records.batch import ATTRIBUTES_AT, CONTROL_FLAG, HEADER_BYTES, LOG_APPEND_TIME_FLAG, MAGIC_V2, RecordBatch
from moldau.records.checksum import crc32c
from moldau.records.columns.cells import Int64s
from moldau.records.columns.fields import PADDING
from moldau.records.compression import COMPRESSION_MASK
from moldau.records.reader import RECORD_BYTES_MIN, unfolded

_DATA_BYTES_MAX = (1 << 31) - 1  # Arrow's positions are 32 bits
_INT64_MAX = (1 << 63) - 1

# The header of `moldau.records.batch`, byte for byte.
_HEADER = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("count", ">i4"),
    ]
)
assert _HEADER.itemsize == HEADER_BYTES


class Batches(NamedTuple):
    """Batches in the order of their offsets. The records of each are in `data`, from its start up to its end."""

    headers: NDArray[np.void]
    data: bytes | memoryview
    starts: Int64s
    ends: Int64s

    @classmethod
    def of(cls, batches: Sequence[RecordBatch]) -> Batches:
        """Batches that were found one by one."""
        headers = b"".join([each.buffer[each.position : each.position + HEADER_BYTES] for each in batches])
        buffer = batches[0].buffer if batches else b""
        if all(each.buffer is buffer for each in batches):
            begin = batches[0].position if batches else 0
            end = batches[-1].position + batches[-1].size_bytes if batches else 0
            data: bytes | memoryview = memoryview(buffer)[begin : end + len(PADDING)]
            starts = np.array([each.position + HEADER_BYTES - begin for each in batches], np.int64)
            sizes = np.array([each.size_bytes - HEADER_BYTES for each in batches], np.int64)
        else:
            sections = [each.records_section for each in batches]
            data, starts, sizes = _joined(sections)
        return cls(np.frombuffer(headers, _HEADER), data, starts, starts + sizes)

    @classmethod
    def between(cls, data: memoryview, positions: Sequence[int]) -> Batches:
        """The batches that lie between each position of a buffer and the next."""
        at = np.array(positions, np.int64)
        headers = np.ndarray((len(data) - HEADER_BYTES + 1,), _HEADER, data, strides=(1,))[at[:-1]]
        return cls(headers, data, at[:-1] + HEADER_BYTES, at[1:])

    def column(self, name: str) -> Int64s:
        """A field of each batch."""
        return self.headers[name].astype(np.int64)

    def has_flag(self, flag: int) -> NDArray[np.bool_]:
        having: NDArray[np.bool_] = (self.headers["attributes"] & flag) != 0
        return having

    def are_whole(self, *, check_crcs: bool) -> bool:
        """Whether `RecordBatch.check` would find nothing wrong with any of them."""
        offsets, deltas, counts = self.column("base_offset"), self.column("last_offset_delta"), self.column("count")
        if (deltas < 0).any() or (counts < 0).any() or (counts > deltas + 1).any():
            return False
        if (offsets < 0).any() or (offsets > _INT64_MAX - 1 - deltas).any():
            return False
        if (self.headers["magic"] != MAGIC_V2).any():
            return False
        return not check_crcs or self._crcs_are_right()

    def _crcs_are_right(self) -> bool:
        data, before = self.data, HEADER_BYTES - ATTRIBUTES_AT
        crcs = self.headers["crc"].tolist()
        for start, end, crc in zip(self.starts.tolist(), self.ends.tolist(), crcs, strict=True):
            if crc32c(data[start - before : end]) != crc:
                return False
        return True

    def shown(self) -> Batches:
        """Those with records for readers."""
        shown = ~self.has_flag(CONTROL_FLAG) & ((self.headers["count"] != 0) | (self.ends != self.starts))
        return self if shown.all() else Batches(self.headers[shown], self.data, self.starts[shown], self.ends[shown])

    def unfolded(self, limit_bytes: int) -> Batches:
        """The same with records that are not compressed, of so many bytes at most, and with padding behind them."""
        if not len(self.headers):
            return self
        size_bytes = int((self.ends - self.starts).sum())
        within = size_bytes <= limit_bytes and int(self.ends[-1]) <= _DATA_BYTES_MAX
        if within and not self.has_flag(COMPRESSION_MASK).any() and self.ends[-1] + len(PADDING) <= len(self.data):
            return self
        sections = []
        for start, end, attributes, count in zip(
            self.starts.tolist(),
            self.ends.tolist(),
            self.column("attributes").tolist(),
            self.column("count").tolist(),
            strict=True,
        ):
            sections.append(unfolded(memoryview(self.data)[start:end], attributes, count, limit_bytes))
            limit_bytes -= len(sections[-1])
        data, starts, sizes = _joined(sections)
        if len(data) > _DATA_BYTES_MAX:
            raise CorruptRecord(f"the records are more than {_DATA_BYTES_MAX} bytes")
        return Batches(self.headers, data, starts, starts + sizes)

    def counts(self) -> Int64s:
        """How many records each has; no more than fit in its bytes, of which each record takes some."""
        counts = self.column("count")
        if ((counts < 0) | (counts > (self.ends - self.starts) // RECORD_BYTES_MIN)).any():
            raise CorruptRecord("a batch says that it has more records than can be in its bytes")
        return counts

    def timestamps(self, deltas: Int64s, counts: Int64s) -> Int64s:
        """The time of each record: its own, or when its batch was appended."""
        timestamps: Int64s = np.repeat(self.column("base_timestamp"), counts) + deltas
        appended = self.has_flag(LOG_APPEND_TIME_FLAG)
        if appended.any():
            times = np.repeat(self.column("max_timestamp"), counts)
            timestamps = np.where(np.repeat(appended, counts), times, timestamps)
        return timestamps

    def offsets(self, deltas: Int64s, counts: Int64s) -> Int64s:
        """The offset of each record, which is one of its batch's."""
        if (deltas < 0).any() or (deltas > np.repeat(self.column("last_offset_delta"), counts)).any():
            raise CorruptRecord("a record has an offset that is not the batch's")
        offsets: Int64s = np.repeat(self.column("base_offset"), counts) + deltas
        return offsets


def _joined(sections: Sequence[bytes | memoryview]) -> tuple[bytes, Int64s, Int64s]:
    """Sections one after the other with padding behind them, where each starts, and its size."""
    sizes = np.array([len(each) for each in sections], np.int64)
    return b"".join((*sections, PADDING)), np.cumsum(sizes) - sizes, sizes
