"""Options and columns of a sink: what is taken, and what each refusal says."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from moldau.base.errors import MoldauError
from moldau.pipeline.datasource import MoldauDataSource
from moldau.pipeline.options import Options
from moldau.pipeline.sink.columns import check_columns
from moldau.pipeline.sink.settings import SinkSettings, sink_settings

SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}


def read(*, is_batch: bool = False, **options: str) -> SinkSettings:
    return sink_settings(Options(SERVERS | options), is_batch=is_batch)


def test_a_sink_is_known_by_its_id_its_checkpoint_or_its_name() -> None:
    assert read(sinkid="orders", checkpointlocation="/c").name == "moldau-sink.orders"
    assert read(checkpointlocation="/c/").sink_id == read(checkpointlocation="/c", queryname="q").sink_id
    assert read(checkpointlocation="/c").sink_id != read(checkpointlocation="/d").sink_id
    assert read(queryname="q").sink_id == "query-q"


def test_each_batch_write_is_a_sink_of_its_own() -> None:
    assert read(is_batch=True).sink_id != read(is_batch=True).sink_id


def test_without_any_name_exactly_once_is_refused() -> None:
    with pytest.raises(MoldauError, match=r"'sinkId' must be specified.*delivery=at-least-once"):
        read()
    assert not read(delivery="at-least-once").exactly_once


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kafka.transactional.id": "x"}, "kafka.transactional.id"),
        ({"kafka.acks": "1"}, "'kafka.acks' is '1'"),
        ({"kafka.enable.idempotence": "false"}, "'kafka.enable.idempotence' is 'false'"),
        ({"kafka.transaction.timeout.ms": "soon"}, "'kafka.transaction.timeout.ms' is 'soon'"),
        ({"kafka.transaction.timeout.ms": "5"}, "'kafka.transaction.timeout.ms' is '5'"),
        ({"delivery": "maybe"}, "'delivery' is 'maybe'"),
        ({"onlosttransactions": "x"}, "'onLostTransactions' is 'x'"),
        ({"sinkId": "a\nb"}, "'sinkId' is"),
        ({"topic": ""}, "'topic' is ''"),
    ],
)
def test_refusals_name_option_and_value(options: dict[str, str], said: str) -> None:
    with pytest.raises(MoldauError, match=said):
        sink_settings(Options(SERVERS | {"sinkId": "s"} | options), is_batch=False)


def test_brokers_are_required() -> None:
    with pytest.raises(MoldauError, match=r"'kafka.bootstrap.servers' must be specified"):
        sink_settings(Options({"sinkId": "s"}), is_batch=False)


HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
TEXT_HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", StringType())]))


def columns(**types: DataType) -> StructType:
    return StructType([StructField(name, each) for name, each in types.items()])


@pytest.mark.parametrize(
    "given",
    [
        columns(value=StringType()),
        columns(key=BinaryType(), value=BinaryType(), other=ArrayType(IntegerType())),
        columns(topic=StringType(), partition=IntegerType(), value=StringType(), timestamp=TimestampType()),
        columns(value=BinaryType(), timestamp=LongType(), headers=HEADERS),
    ],
)
def test_columns_that_are_taken(given: StructType) -> None:
    check_columns(given, "t")


@pytest.mark.parametrize(
    ("given", "topic", "said"),
    [
        (columns(key=StringType()), "t", "Required attribute 'value' not found: the columns are key"),
        (columns(value=StringType()), None, "topic option required when no 'topic' attribute is present"),
        (columns(value=IntegerType()), "t", r"value must be a\(n\) STRING or BINARY, but the column is int"),
        (columns(value=StringType(), key=LongType()), "t", r"key must be a\(n\) STRING or BINARY"),
        (columns(value=StringType(), topic=IntegerType()), None, r"topic must be a\(n\) STRING"),
        (columns(value=StringType(), partition=LongType()), "t", r"partition must be a\(n\) INT"),
        (columns(value=StringType(), timestamp=StringType()), "t", r"timestamp must be a\(n\) TIMESTAMP or BIGINT"),
        (columns(value=StringType(), headers=StringType()), "t", r"headers must be a\(n\) ARRAY<STRUCT"),
        (columns(value=StringType(), headers=TEXT_HEADERS), "t", "headers must be"),
    ],
)
def test_columns_that_are_refused(given: StructType, topic: str | None, said: str) -> None:
    with pytest.raises(MoldauError, match=said):
        check_columns(given, topic)


def test_a_topic_is_not_overwritten() -> None:
    source = MoldauDataSource({**SERVERS, "topic": "t"})
    with pytest.raises(MoldauError, match=r'a topic is only appended to; say mode\("append"\)'):
        source.writer(columns(value=StringType()), overwrite=True)
