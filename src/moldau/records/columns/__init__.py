"""Arrow columns in, batches out, and back, without a Python object for any record.

Nouns: a column (Arrow's binary, string, int64 or lists of headers), a cell (the few bytes in front of a key or a
value), fields (what is read at many positions at once).
Invariants: the bytes are those that `builder` makes from the same records, and the columns hold what `reader` reads;
no position in foreign bytes is used before it has been checked, so malformed batches are `CorruptRecord` here too.
May import: `moldau.base`, the rest of `moldau.records`, numpy and pyarrow. Nothing else in `moldau.records` imports it.
"""

from __future__ import annotations

from moldau.records.columns.decode import SCHEMA, columns_from_batches
from moldau.records.columns.encode import HeadlessBatch, batches_from_columns, headless_batches

__all__ = ["SCHEMA", "HeadlessBatch", "batches_from_columns", "columns_from_batches", "headless_batches"]
