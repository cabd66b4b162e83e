"""Pipelines in TOML: what is read, and how what is wrong is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from moldau.pipeline.jobs.definition import Encoding, Pipeline, PipelineError, Watermark
from moldau.pipeline.jobs.toml_file import read_toml

WHOLE = """
name = "totals"

[kafka]
bootstrap.servers = "localhost:9092"
"security.protocol" = "PLAINTEXT"

[spark]
sql.shuffle.partitions = 4

[parameters]
topic = "orders"

[source.orders]
topic = "${topic}"
from = 2026-01-31T12:00:00Z
options = { maxOffsetsPerTrigger = 1000 }
value = { format = "json", schema = "amount DOUBLE" }
watermark = { column = "timestamp", delay = "1 minute" }

[source.old]
servers = "other:9092"
pattern = "old-.*"
from = "earliest"
until = "2026-02-01"
stream = false
headers = true

[[step]]
name = "sums"
sql = "SELECT sum(value.amount) AS amount FROM orders"

[[sink]]
table = "sums"
topic = "${topic}-sums"
mode = "update"
trigger = "1 second"
key = "'all'"
value = "json"
"""
LEAST = """
[source.orders]
format = "rate"
[[sink]]
table = "orders"
format = "noop"
"""


def read(tmp_path: Path, text: str, **given: str) -> Pipeline:
    path = tmp_path / "a-pipeline.toml"
    path.write_text(text)
    return read_toml(path, given)


def test_everything_that_can_be_written_is_read(tmp_path: Path) -> None:
    pipeline = read(tmp_path, WHOLE, topic="sales")
    orders, old = pipeline.sources
    assert (pipeline.name, pipeline.spark) == ("totals", {"spark.sql.shuffle.partitions": "4"})
    assert orders.options == {
        "kafka.bootstrap.servers": "localhost:9092",
        "kafka.security.protocol": "PLAINTEXT",
        "subscribe": "sales",
        "startingTimestamp": "1769860800000",
        "maxOffsetsPerTrigger": "1000",
    }
    assert (orders.value, orders.watermark) == (
        Encoding("json", "amount DOUBLE"),
        Watermark("timestamp", "1 minute"),
    )
    assert not old.stream
    assert old.options["kafka.bootstrap.servers"] == "other:9092"
    assert (old.options["subscribePattern"], old.options["startingOffsets"]) == ("old-.*", "earliest")
    assert (old.options["endingTimestamp"], old.options["includeHeaders"]) == ("1769904000000", "true")
    (sink,) = pipeline.sinks
    assert (sink.name, sink.table, sink.mode, sink.trigger, sink.key) == ("sums", "sums", "update", "1 second", "'all'")
    assert sink.options["topic"] == "sales-sums"
    assert sink.value == Encoding("json")


def test_the_name_of_a_file_is_the_name_of_its_pipeline(tmp_path: Path) -> None:
    assert read(tmp_path, LEAST).name == "a-pipeline"


def test_files_that_a_pipeline_names_are_beside_it(tmp_path: Path) -> None:
    pipeline = read(tmp_path, LEAST.replace('"noop"', '"parquet"\npath = "table"'))
    assert pipeline.sinks[0].options == {"path": str(tmp_path / "table")}
    elsewhere = read(tmp_path, LEAST.replace('"noop"', '"parquet"\npath = "hdfs://host/table"'))
    assert elsewhere.sinks[0].options == {"path": "hdfs://host/table"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[source", "is not TOML"),
        ("", "there is no source"),
        ("[source.a]\nformat = 'rate'", "there is no sink"),
        (LEAST + "tabel = 'x'", "[[sink]] 1 has no 'tabel'; did you mean table?"),
        (LEAST + "colour = 'x'", "[[sink]] 1 has no 'colour'; it can have: "),
        ("colour = 1" + LEAST, "a-pipeline.toml has no 'colour'"),
        (LEAST.replace('"orders"', '"order"'), "sink order takes a table 'order', which does not exist"),
        (LEAST.replace('"orders"', "7"), "table is 7, but has to be a text"),
        (LEAST + "mode = 'all'", "mode is 'all', but has to be one of append, update, complete"),
        (LEAST.replace("[[sink]]", "[sink]"), "write [[sink]] with two brackets"),
        (LEAST.replace("orders]", "'my orders']"), "source 'my orders': a name has letters"),
        (LEAST.replace("orders]", "spark]"), "is not 'spark'"),
        (LEAST + "value = 'xml'", "value is 'xml', but has to be one of string, json, avro, protobuf"),
        (LEAST + "trigger = '${often}'", "${often} is no parameter"),
        (LEAST + "[parameters.often]\nabout = 'how often'", "needs the parameter often (how often): add --set often"),
        (LEAST + "options = { a = [1] }", "a is [1], but has to be a text, a number"),
        (WHOLE.replace("stream = false", ""), "until needs stream = false"),
        (WHOLE + "[[step]]\nname = 'sums'\nsql = 'SELECT 1'", "step sums: there is a table of this name already"),
        (WHOLE + "value.schema_file = 'x'", "is not TOML"),
        (WHOLE.replace('schema = "amount DOUBLE"', 'schema_file = "no.json"'), "no.json cannot be read"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(PipelineError) as raised:
        read(tmp_path, text)
    assert told in str(raised.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="cannot be read"):
        read_toml(tmp_path / "none.toml", {})


def test_a_parameter_that_nobody_has_declared_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"--set colour: a-pipeline\.toml has no such parameter; it has: none"):
        read(tmp_path, LEAST, colour="red")
