"""Pipelines in Python: functions put together by the names of their parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from moldau.pipeline.jobs.definition import Pipeline, PipelineError
from moldau.pipeline.jobs.python_file import read_python

WHOLE = """
from moldau.pipeline.jobs import parameter, sink, source, step

limit = int(parameter("limit", "10", "the least amount"))

@source
def orders(spark):
    return spark

@source
def customers(spark):
    return spark

@step
def large(orders, spark):
    return orders

@sink(topic="large", servers="localhost:9092", trigger="1 second", options={"failOnDataLoss": False})
def out(large):
    return large

@sink(format="parquet", path="table", partition_by="day")
def table(customers):
    return customers
"""


def read(tmp_path: Path, text: str, **given: str) -> Pipeline:
    path = tmp_path / "orders.py"
    path.write_text(text)
    return read_python(path, given)


def test_functions_become_a_pipeline(tmp_path: Path) -> None:
    pipeline = read(tmp_path, WHOLE, limit="7")
    assert pipeline.name == "orders"
    assert [source.name for source in pipeline.sources] == ["orders", "customers"]
    assert [(step.name, step.inputs) for step in pipeline.steps] == [
        ("large", ("orders", "spark")),
        ("out", ("large",)),
        ("table", ("customers",)),
    ]
    out, table = pipeline.sinks
    assert out.options == {
        "failOnDataLoss": "false",
        "kafka.bootstrap.servers": "localhost:9092",
        "topic": "large",
    }
    assert (table.format, table.options, table.partition_by) == ("parquet", {"path": "table"}, ("day",))


def test_a_query_reads_what_its_sink_needs_and_has_its_own_group(tmp_path: Path) -> None:
    pipeline = read(tmp_path, WHOLE)
    out, table = pipeline.sinks
    assert pipeline.needed_for(out) == {"orders", "large", "out"}
    assert pipeline.needed_for(table) == {"customers", "table"}
    assert [pipeline.group_of(each) for each in pipeline.sinks] == ["orders-out", "orders-table"]


def test_a_file_is_loaded_each_time_anew(tmp_path: Path) -> None:
    assert len(read(tmp_path, WHOLE).sinks) == len(read(tmp_path, WHOLE).sinks) == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def f(:", "orders.py line 1: SyntaxError"),
        ("\n1 / 0", "orders.py line 2: ZeroDivisionError: division by zero"),
        ("", "there is no source"),
        (WHOLE.replace("large(orders", "large(order"), "step large takes a table 'order', which does not exist"),
        (WHOLE.replace("customers(spark)", "customers(orders)"), "source customers takes 'orders'"),
        (WHOLE.replace("large(orders, ", "large(*"), "names no table"),
        (WHOLE.replace('"10", ', "None, "), "the parameter limit is needed (the least amount)"),
        (WHOLE.replace("path=", "paht="), "sink table has no 'paht'"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(PipelineError) as raised:
        read(tmp_path, text)
    assert told in str(raised.value)


def test_a_parameter_that_nobody_has_declared_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"--set colour: orders\.py has no such parameter; it has: limit"):
        read(tmp_path, WHOLE, colour="red")
