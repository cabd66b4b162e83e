"""Records beside kafka-python's and aiokafka's, and columns beside our own record loop.

aiokafka is measured with its C extension, as a figure, and in pure Python. There its checksum stays compiled: in
pure Python it alone takes several times as long as all the rest.

A record loop over columns is what has to be done without them: Python objects for keys and values, a `BatchBuilder` on
the way in, `read_batch` and new columns on the way out. The bare loops, over records that exist already, are beside it.
"""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pyarrow as pa

from bench.measure import Row, compare, table
from moldau.records.batch import RecordBatch
from moldau.records.builder import BatchBuilder, build_batch
from moldau.records.columns import batches_from_columns, columns_from_batches
from moldau.records.reader import read_batch
from moldau.records.record import Record

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from aiokafka.record import default_records as aiokafka
    from aiokafka.record import util as aiokafka_varints
    from kafka.record import MemoryRecords, MemoryRecordsBuilder

for name in ("encode_varint", "decode_varint", "size_of_varint"):
    setattr(aiokafka, name, getattr(aiokafka_varints, f"{name}_py"))

COUNT = 1_000
ROWS = 100_000
BATCH_BYTES = 128 * 1024
NOISE = random.Random(1)
RECORDS = [Record(n, 1_700_000_000_000 + n // 10, b"key-%06d" % n, NOISE.randbytes(100)) for n in range(COUNT)]


def rows() -> list[Row]:
    return [*batch_rows(), *header_rows(), *column_rows()]


# -- a batch of 1,000 × 100 B


def batch_rows() -> list[Row]:
    data = build_batch(RECORDS)
    for other in (build_with_kafka_python, build_with_aiokafka, build_with_extension):
        assert bytes(other())[61:] == data[61:]
    building = compare(
        lambda: build_batch(RECORDS),
        build_with_builder,
        build_with_kafka_python,
        build_with_aiokafka,
        build_with_extension,
    )
    reading = compare(
        lambda: read_checked(data),
        lambda: read_with_kafka_python(data),
        lambda: read_with_aiokafka(data, aiokafka._DefaultRecordBatchPy),
        lambda: read_with_aiokafka(data, aiokafka.DefaultRecordBatch),
    )
    build, append, *other_builds = (seconds * 1e6 for seconds in building)
    read, *other_reads = (seconds * 1e6 for seconds in reading)
    others = (("kafka-python 3", "≤0.5"), ("aiokafka, pure Python", "≤0.5"), ("aiokafka, C extension", ""))
    out = []
    for (against, bar), theirs in zip(others, other_builds, strict=True):
        out.append(Row("build 1,000 × 100 B at once", build, theirs, "µs", against, bar))
        out.append(Row("build 1,000 × 100 B by appending", append, theirs, "µs", against, bar))
    for (against, bar), theirs in zip(others, other_reads, strict=True):
        out.append(Row("read 1,000 × 100 B", read, theirs, "µs", against, bar))
    return out


def build_with_builder() -> bytes:
    builder = BatchBuilder(1 << 30)
    for _, timestamp, key, value, headers in RECORDS:
        builder.append(timestamp, key, value, headers)
    return builder.build()


def build_with_kafka_python() -> Any:
    builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=1 << 30)
    for _, timestamp, key, value, _ in RECORDS:
        builder.append(timestamp, key, value, [])
    builder.close()
    return builder.buffer()


def build_with_aiokafka(builder_class: Any = aiokafka._DefaultRecordBatchBuilderPy) -> Any:
    builder = builder_class(
        magic=2,
        compression_type=0,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 30,
    )
    for offset, timestamp, key, value, _ in RECORDS:
        builder.append(offset, timestamp, key, value, [])
    return builder.build()


def build_with_extension() -> Any:
    return build_with_aiokafka(aiokafka.DefaultRecordBatchBuilder)


def read_checked(data: bytes) -> list[Record]:
    batch = RecordBatch(data)
    batch.check()
    return read_batch(batch)


def read_with_kafka_python(data: bytes) -> list[Any]:
    (batch,) = MemoryRecords(data)
    assert batch.validate_crc()
    return list(batch)


def read_with_aiokafka(data: bytes, batch_class: Any) -> list[Any]:
    batch = batch_class(data)
    assert batch.validate_crc()
    return list(batch)


# -- what a broker does with a batch


def header_rows() -> list[Row]:
    """The broker's part: a header, the checksum, an offset and an epoch, in a batch of 16 KiB."""
    data = bytearray(build_batch(RECORDS[:140]))

    def ours() -> None:
        batch = RecordBatch(data)
        batch.check_produced()
        batch.assign(1_000_000, 3)

    def theirs() -> None:
        (batch,) = MemoryRecords(bytes(data))
        assert batch.validate_crc()

    mine, other = (seconds * 1e6 for seconds in compare(ours, theirs))
    return [Row("header, checksum, offset and epoch of 16 KiB", mine, other, "µs", "kafka-python 3, no change", "")]


# -- columns


def column_rows() -> list[Row]:
    columns = sample_columns()
    keys, values, times = (columns[name].to_pylist() for name in ("key", "value", "timestamp"))
    records = [Record(n, *row) for n, row in enumerate(zip(times, keys, values, strict=True))]
    parts = [records[start : start + COUNT] for start in range(0, ROWS, COUNT)]
    batches = [RecordBatch(build_batch(part, base_offset=part[0].offset)) for part in parts]
    encoding = compare(
        lambda: list(batches_from_columns(columns, batch_bytes=BATCH_BYTES)),
        lambda: batches_by_record(columns),
        lambda: [build_batch(part, base_offset=part[0].offset) for part in parts],
    )
    decoding = compare(
        lambda: columns_from_batches(batches),
        lambda: columns_by_record(batches),
        lambda: [read_batch(batch) for batch in batches],
    )
    out = []
    for what, bar, (mine, over_columns, bare) in (("encode", "≤0.125", encoding), ("decode", "≤0.4", decoding)):
        out.append(
            millions(f"columns, {what} 100,000 × 100 B", mine, over_columns, "our record loop, same columns", bar)
        )
        bare_bar = "" if what == "encode" else bar
        out.append(millions(f"columns, {what} 100,000 × 100 B", mine, bare, "our bare loop, records there", bare_bar))
    return out


def millions(what: str, ours_s: float, theirs_s: float, against: str, bar: str) -> Row:
    return Row(what, ours_s / ROWS * 1e9, theirs_s / ROWS * 1e9, "ns a record", against, bar)


def sample_columns() -> pa.Table:
    return pa.table(
        {
            "key": pa.array([b"key-%06d" % n for n in range(ROWS)], pa.binary()),
            "value": pa.array([NOISE.randbytes(100) for _ in range(ROWS)], pa.binary()),
            "timestamp": pa.array(1_700_000_000_000 + np.arange(ROWS) // 100),
        }
    )


def batches_by_record(columns: pa.Table) -> list[bytes]:
    batches = []
    builder = BatchBuilder(BATCH_BYTES)
    rows_ = zip(*(columns[name].to_pylist() for name in ("timestamp", "key", "value")), strict=True)
    for timestamp, key, value in rows_:
        if builder.append(timestamp, key, value) is None:
            batches.append(builder.build())
            builder = BatchBuilder(BATCH_BYTES)
            builder.append(timestamp, key, value)
    batches.append(builder.build())
    return batches


def columns_by_record(batches: list[RecordBatch]) -> list[pa.Array]:
    records = [record for batch in batches for record in read_batch(batch)]
    offsets, times, keys, values, _ = zip(*records, strict=True)
    types = (pa.int64(), pa.int64(), pa.binary(), pa.binary())
    return [pa.array(column, kind) for column, kind in zip((offsets, times, keys, values), types, strict=True)]


if __name__ == "__main__":
    print(table(rows()))
