"""Random columns make the bytes that records make, and come back from them."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from moldau.records.batch import RecordBatch
from moldau.records.builder import build_batch
from moldau.records.columns import batches_from_columns, columns_from_batches
from moldau.records.columns.header_lists import HEADERS_TYPE
from moldau.records.compression import CompressionType
from moldau.records.record import Record
from tests.unit.records.record_strategies import CODECS, record_lists


def valid_headers(records: list[Record]) -> list[Record]:
    """A column of strings has no keys that are not UTF-8."""
    return [
        record._replace(headers=tuple((key.replace("\udcff", "?"), value) for key, value in record.headers))
        for record in records
    ]


@given(record_lists().map(valid_headers), st.sampled_from(CODECS), st.integers(1, 4000), st.booleans())
def test_columns_to_batches_to_columns(
    records: list[Record], codec: CompressionType, batch_bytes: int, with_headers: bool
) -> None:
    columns = {
        "timestamp": pa.array([record.timestamp for record in records], pa.int64()),
        "key": pa.array([record.key for record in records], pa.binary()),
        "value": pa.array([record.value for record in records], pa.binary()),
    }
    if with_headers:
        headers = [[{"key": key, "value": value} for key, value in record.headers] for record in records]
        columns["headers"] = pa.array(headers, HEADERS_TYPE)
    else:
        records = [record._replace(headers=()) for record in records]
    made = batches_from_columns(pa.table(columns), codec, batch_bytes=batch_bytes)
    first = 0
    batches = []
    for data in made:
        batch = RecordBatch(data)
        part = records[first : first + batch.count]
        assert bytes(data) == build_batch([record._replace(offset=i) for i, record in enumerate(part)], codec)
        first += batch.count
        batches.append(batch)
    assert first == len(records)
    table = columns_from_batches(batches)
    table.validate(full=True)
    for name, column in columns.items():
        assert table[name].to_pylist() == column.to_pylist()
    if not with_headers:
        assert table["headers"].to_pylist() == [[]] * len(records)
