"""Bytes as columns and back: JSON, text, Confluent's header, and what is said where a jar is missing."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from moldau.pipeline.jobs.definition import Encoding, PipelineError
from moldau.pipeline.jobs.formats import (
    confluent_schema_id,
    decoded,
    encoded,
    with_confluent_header,
    without_confluent_header,
)

pytestmark = [pytest.mark.slow, pytest.mark.java]

ORDER = Encoding("json", "id BIGINT, amount DOUBLE")


def test_json_is_read_by_its_schema_and_written_again(spark: SparkSession) -> None:
    table = spark.createDataFrame(
        [(bytearray(b'{"id":1,"amount":2.5,"more":0}'),), (bytearray(b"no json"),)], "value binary"
    )
    rows = table.select(decoded(f.col("value"), ORDER, "here").alias("order")).select("order.*")
    assert [tuple(row) for row in rows.collect()] == [(1, 2.5), (None, None)]
    (first, _second) = rows.select(encoded(rows, Encoding("json"), "here").alias("value")).collect()
    assert bytes(first["value"]) == b'{"id":1,"amount":2.5}'


def test_a_value_has_the_columns_that_are_not_the_records(spark: SparkSession) -> None:
    table = spark.sql("SELECT 'k' AS key, 't' AS topic, 1 AS a, 2 AS b")
    value = table.select(encoded(table, Encoding("json"), "here").alias("value")).first()
    assert value is not None
    assert bytes(value["value"]) == b'{"a":1,"b":2}'
    chosen = table.select(encoded(table, Encoding("string", columns=("b",)), "here").alias("value")).first()
    assert chosen is not None
    assert bytes(chosen["value"]) == b"2"


@pytest.mark.parametrize(
    ("encoding", "told"),
    [
        (Encoding("json", columns=("c",)), "here: value has a column 'c', but the table has key, a, b"),
        (Encoding("string"), "here: a value that is a string is one column, not a, b"),
        (Encoding("json", confluent=True), "here: Confluent's header needs the schema's id"),
        (Encoding("json", confluent_id=-1), "confluent_id is -1, but has to be"),
        (Encoding("avro"), "here: avro needs Spark's jar spark-avro: add --set spark.jars.packages=org.apache.spark:"),
        (Encoding("protobuf", "file", "Order"), "here: protobuf needs Spark's jar spark-protobuf"),
    ],
)
def test_what_cannot_be_written_is_told(spark: SparkSession, encoding: Encoding, told: str) -> None:
    table = spark.sql("SELECT 'k' AS key, 1 AS a, 2 AS b")
    with pytest.raises(PipelineError) as raised:
        encoded(table, encoding, "here")
    assert told in str(raised.value)


def test_json_without_a_schema_is_told(spark: SparkSession) -> None:
    with pytest.raises(PipelineError, match="here: json needs a schema"):
        decoded(f.col("value"), Encoding("json"), "here")


def test_confluents_header_is_put_on_and_taken_off(spark: SparkSession) -> None:
    table = spark.createDataFrame([(bytearray(b"abc"),), (bytearray(b""),), (None,)], "value binary")
    for protobuf, header in ((False, b"\0\0\0\1\2"), (True, b"\0\0\0\1\2\0")):
        wired = table.select(with_confluent_header(f.col("value"), 258, protobuf=protobuf).alias("value"))
        assert [row["value"] and bytes(row["value"]) for row in wired.collect()] == [header + b"abc", header, None]
        back = wired.select(
            without_confluent_header(f.col("value"), protobuf=protobuf).alias("value"),
            confluent_schema_id(f.col("value")).alias("id"),
        ).collect()
        assert [None if row["value"] is None else bytes(row["value"]) for row in back] == [b"abc", b"", None]
        assert [row["id"] for row in back] == [258, 258, None]


def test_a_record_without_the_header_is_an_error(spark: SparkSession) -> None:
    table = spark.createDataFrame([(bytearray(b'{"id":1}'),)], "value binary")
    with pytest.raises(PySparkException, match="no header of Confluent's registry"):
        table.select(without_confluent_header(f.col("value"))).collect()
