"""Headers as a column: Arrow lists of structs of a string `key` and a binary `value`, which may be null."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, CorruptRecord
from moldau.records.columns.cells import Int64s, cell_column, varints
from moldau.records.columns.fields import Fields
from moldau.records.columns.payload import SEPARATOR, lengths, payload
from moldau.records.record import HEADER_KEY_ERRORS, Headers

HEADERS_TYPE = pa.list_(pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())]))
_NO_HEADERS = pa.array([], HEADERS_TYPE.value_type)

# More headers in one record than this are read record by record: each takes a step for all records.
_HEADERS_MAX = 64


class TooManyHeaders(Exception):
    """A record has so many headers that reading all records' headers at once does not pay."""


class HeaderLists:
    """A column of headers on the way into records."""

    def __init__(self, lists: pa.ListArray) -> None:
        flat = lists.flatten()
        self._key = pc.struct_field(flat, "key").cast(pa.binary())
        self._value = pc.struct_field(flat, "value").cast(pa.binary())
        if self._key.null_count:
            raise ApiError(ErrorCode.INVALID_RECORD, "a header has no key")
        self._counts = np.asarray(pc.fill_null(pc.list_value_length(lists), 0), np.int64)
        self._starts = np.concatenate(([0], np.cumsum(self._counts)))
        self._key_sizes, self._value_sizes = (lengths(column).astype(np.int64) for column in (self._key, self._value))
        sizes = self._key_sizes + np.maximum(self._value_sizes, 0)
        for numbers in (self._key_sizes, self._value_sizes):
            sizes += varints(numbers).sizes if len(flat) else 0
        # What the headers of each row take in its record, with their count.
        self.sizes = np.diff(np.concatenate(([0], np.cumsum(sizes)))[self._starts])
        self.sizes += varints(self._counts).sizes if len(lists) else 0

    def columns(self, start: int, rows: int) -> tuple[pa.BinaryArray, pa.BinaryArray]:
        """The counts and the headers of some rows, as they are in records."""
        first, end = int(self._starts[start]), int(self._starts[start + rows])
        headers = pa.array([], pa.binary())
        if end > first:
            headers = pc.binary_join_element_wise(
                cell_column(end - first, varints(self._key_sizes[first:end])),
                self._key.slice(first, end - first),
                cell_column(end - first, varints(self._value_sizes[first:end])),
                payload(self._value, first, end - first),
                SEPARATOR,
            )
        offsets = pa.array((self._starts[start : start + rows + 1] - first).astype(np.int32))
        joined = pc.binary_join(pa.ListArray.from_arrays(offsets, headers), SEPARATOR)
        return cell_column(rows, varints(self._counts[start : start + rows])), joined

    def rows(self, start: int, rows: int) -> list[Headers]:
        """The headers of some rows as records have them."""
        first, end = int(self._starts[start]), int(self._starts[start + rows])
        keys = self._key.slice(first, end - first).cast(pa.string()).to_pylist()
        values = self._value.slice(first, end - first).to_pylist()
        pairs = list(zip(keys, values, strict=True))
        at = (self._starts[start : start + rows + 1] - first).tolist()
        return [tuple(pairs[a:b]) for a, b in pairwise(at)]


def read_header_lists(fields: Fields, at: Int64s, ends: Int64s) -> tuple[pa.ListArray, Int64s]:
    """The headers whose count is at the positions, and the positions after them: first headers, second ones …"""
    counts, at = fields.varints(at, ends)
    if (counts < 0).any() or (counts > (ends - at) >> 1).any():
        raise CorruptRecord("a record has fewer bytes than its headers need")
    most = int(counts.max(initial=0))
    if not most:
        offsets = pa.py_buffer(bytes(4 * (len(counts) + 1)))
        return pa.ListArray.from_buffers(HEADERS_TYPE, len(counts), [None, offsets], children=[_NO_HEADERS]), at
    if most > _HEADERS_MAX:
        raise TooManyHeaders
    list_starts = np.concatenate(([0], np.cumsum(counts)))
    key_at, key_sizes, value_at, value_sizes = np.zeros((4, int(list_starts[-1])), np.int64)
    for index in range(most):
        rows = np.flatnonzero(counts > index)
        slots = list_starts[rows] + index
        row_ends = ends[rows]
        key_sizes[slots], key_at[slots], after = fields.lengths(at[rows], row_ends, smallest=0)
        value_sizes[slots], value_at[slots], at[rows] = fields.lengths(after, row_ends)
    headers = pa.StructArray.from_arrays(
        [_as_strings(fields.binary(key_at, key_sizes)), fields.binary(value_at, value_sizes)],
        fields=list(HEADERS_TYPE.value_type),
    )
    return pa.ListArray.from_arrays(pa.array(list_starts.astype(np.int32)), headers, type=HEADERS_TYPE), at


def arrow_headers(headers: Headers) -> list[dict[str, str | bytes | None]]:
    """A record's headers as Arrow takes them."""
    return [{"key": _as_text(key.encode("utf-8", HEADER_KEY_ERRORS)), "value": value} for key, value in headers]


def _as_strings(keys: pa.BinaryArray) -> pa.StringArray:
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([_as_text(key) for key in keys.to_pylist()], pa.string())


def _as_text(key: bytes) -> str:
    """A column of strings has to be UTF-8, a header's key does not: what is not is replaced, as Java does."""
    return key.decode("utf-8", "replace")
