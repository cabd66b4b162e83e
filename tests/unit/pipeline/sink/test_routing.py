"""Rows find their partitions, the same as with the Java client."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.base.hashing import murmur2
from moldau.clients.producer.partitioners import partition_of_key
from moldau.pipeline.sink.column_hash import murmur2_column, partitions_of_keys
from moldau.pipeline.sink.errors import RowError
from moldau.pipeline.sink.routing import Piece, pieces


@given(st.lists(st.one_of(st.none(), st.binary(max_size=40), st.binary(min_size=250, max_size=300)), max_size=50))
def test_hashes_are_those_of_single_keys(keys: list[bytes | None]) -> None:
    column = pa.array([b"skipped", *keys, b"also"], pa.binary()).slice(1, len(keys))
    hashes = murmur2_column(column).astype(np.int32).tolist()
    assert [found for found, key in zip(hashes, keys, strict=True) if key is not None] == [
        murmur2(key) for key in keys if key is not None
    ]


@given(st.lists(st.binary(max_size=20), min_size=1), st.integers(1, 100))
def test_partitions_are_those_of_single_keys(keys: list[bytes], count: int) -> None:
    found = partitions_of_keys(pa.array(keys, pa.binary()), count).tolist()
    assert found == [partition_of_key(key, count) for key in keys]


def cut(rows: dict[str, pa.Array], topic: str | None = "t", count: int = 4) -> list[Piece]:
    return list(pieces(pa.RecordBatch.from_pydict(rows), topic, lambda _topic: count))


def values(piece: Piece) -> list[object]:
    return list(piece.columns.column("value").to_pylist())


def test_rows_without_key_stay_together() -> None:
    (piece,) = cut({"value": pa.array([b"a", b"b"]), "key": pa.nulls(2, pa.binary())})
    assert piece.partition is None
    assert piece.columns.schema.names == ["value"]


def test_a_named_partition_goes_before_the_key() -> None:
    found = cut(
        {
            "value": pa.array([b"a", b"b", b"c", b"d"]),
            "key": pa.array(["k", None, "k", "k"]),
            "partition": pa.array([3, None, None, 3], pa.int32()),
        }
    )
    of_key = partition_of_key(b"k", 4)
    assert {piece.partition: values(piece) for piece in found} == {3: [b"a", b"d"], None: [b"b"], of_key: [b"c"]}


def test_rows_of_a_partition_keep_their_order() -> None:
    keys = [str(number % 7).encode() for number in range(1000)]
    found = cut({"value": pa.array(list(map(str, range(1000)))), "key": pa.array(keys)})
    assert sum(piece.columns.num_rows for piece in found) == 1000
    for piece in found:
        numbers = [int(str(each)) for each in values(piece)]
        assert numbers == sorted(numbers)
        assert {partition_of_key(keys[number], 4) for number in numbers} == {piece.partition}


def test_each_row_names_its_topic_unless_the_option_does() -> None:
    rows = {"value": pa.array([b"a", b"b", b"c"]), "topic": pa.array(["x", "y", "x"])}
    assert {piece.topic: values(piece) for piece in cut(rows, None)} == {"x": [b"a", b"c"], "y": [b"b"]}
    assert {piece.topic for piece in cut(rows, "z")} == {"z"}


def test_a_null_topic_is_an_error() -> None:
    with pytest.raises(RowError, match="null topic present in the data"):
        cut({"value": pa.array([b"a"]), "topic": pa.array([None], pa.string())}, None)


@pytest.mark.parametrize("number", [-1, 4])
def test_a_partition_that_is_not_there_is_an_error(number: int) -> None:
    with pytest.raises(RowError, match=f"partition {number}, and topic t has partitions 0 to 3"):
        cut({"value": pa.array([b"a"]), "partition": pa.array([number], pa.int32())})
