"""Running pipelines with formats of Spark's own: files in and out, databases, functions, failures."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from moldau.cli import main
from moldau.pipeline.jobs import launch
from moldau.pipeline.jobs.definition import PipelineError
from moldau.pipeline.jobs.python_file import read_python
from moldau.pipeline.jobs.running import Run
from moldau.testing.local_cluster import LocalCluster
from tests.spark.jobs.runs import Said, run_once, written

pytestmark = [pytest.mark.slow, pytest.mark.java]

FILES = """
[source.orders]
format = "json"
path = "in"
schema = "id BIGINT, day DATE"

[[step]]
name = "rows"
sql = "SELECT id, id * 2 AS double, day FROM orders"

[[sink]]
table = "rows"
"""


def put(folder: Path, name: str, *ids: int) -> None:
    (folder / "in").mkdir(exist_ok=True)
    rows = [json.dumps({"id": each, "day": f"2026-01-0{each}"}) for each in ids]
    (folder / "in" / name).write_text("\n".join(rows))


@pytest.mark.parametrize("format_name", ["parquet", "csv"])
def test_files_go_into_a_table_by_day_and_a_second_run_goes_on(
    spark: SparkSession, tmp_path: Path, format_name: str
) -> None:
    put(tmp_path, "one", 1, 2)
    pipeline = written(tmp_path, f"{FILES}format = '{format_name}'\npath = 'out'\npartition_by = 'day'")
    first = run_once(pipeline, spark, tmp_path)
    assert [(report.query, report.batch, report.rows) for report in first.reports] == [("rows", 0, 2)]
    put(tmp_path, "two", 3)
    assert sum(report.rows for report in run_once(pipeline, spark, tmp_path).reports) == 1
    folders = sorted(path.name for path in (tmp_path / "out").glob("day=*"))
    assert folders == ["day=2026-01-01", "day=2026-01-02", "day=2026-01-03"]
    rows = spark.read.format(format_name).schema("id BIGINT, double BIGINT, day DATE").load(str(tmp_path / "out"))
    assert sorted((row["id"], row["double"]) for row in rows.collect()) == [(1, 2), (2, 4), (3, 6)]


def test_a_database_gets_each_batch(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, "one", 1, 2)
    url = f"jdbc:derby:{tmp_path / 'database'};create=true"
    driver = "org.apache.derby.iapi.jdbc.AutoloadedDriver"
    options = f'format = "jdbc"\noptions = {{ url = "{url}", dbtable = "doubles", driver = "{driver}" }}'
    run_once(written(tmp_path, FILES + options), spark, tmp_path)
    put(tmp_path, "two", 3)
    run_once(written(tmp_path, FILES + options), spark, tmp_path)
    rows = spark.read.format("jdbc").options(url=url, dbtable="doubles", driver=driver).load()
    assert sorted(row["double"] for row in rows.collect()) == [2, 4, 6]


def test_what_is_not_a_stream_is_written_once(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, "one", 1, 2)
    batch = FILES.replace('schema = "', 'stream = false\nschema = "')
    said = run_once(written(tmp_path, f"{batch}format = 'parquet'\npath = 'out'"), spark, tmp_path)
    assert said.lines == ["rows: writing", "rows: written", "closed"]
    assert spark.read.parquet(str(tmp_path / "out")).count() == 2


def test_functions_of_a_file_run_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, "one", 1, 2)
    path = tmp_path / "doubles.py"
    path.write_text(
        f"""
from pyspark.sql import functions as f
from moldau.pipeline.jobs import parameter, sink, source, step

factor = int(parameter("factor", "2"))

@f.udf(returnType="bigint", useArrow=False)
def times(number):
    return number * factor

@source
def orders(spark):
    return spark.readStream.schema("id BIGINT").json({str(tmp_path / "in")!r})

@step
def doubled(orders):
    return orders.select(times("id").alias("double"))

@sink(format="parquet", path={str(tmp_path / "out")!r})
def out(doubled):
    return doubled
"""
    )
    run_once(read_python(path, {"factor": "3"}), spark, tmp_path)
    assert sorted(row["double"] for row in spark.read.parquet(str(tmp_path / "out")).collect()) == [3, 6]


def test_a_query_that_fails_ends_the_run_and_is_told_in_a_line(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, "one", 1)
    broken = FILES.replace("id * 2 AS double", "CAST(raise_error('no luck') AS STRING) AS double")
    with pytest.raises(PipelineError) as raised:
        run_once(written(tmp_path, broken + "format = 'noop'"), spark, tmp_path)
    assert str(raised.value) == "sink rows: [USER_RAISED_EXCEPTION] no luck"
    assert spark.streams.active == []


def test_an_error_of_java_in_a_batch_is_told_in_a_line(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, "one", 1)
    options = 'format = "jdbc"\noptions = { url = "jdbc:x", dbtable = "t", driver = "no.such.Driver" }'
    with pytest.raises(PipelineError) as raised:
        run_once(written(tmp_path, FILES + options), spark, tmp_path)
    assert str(raised.value) == "sink rows: ClassNotFoundException: no.such.Driver"


MISSING = """
from moldau.pipeline.jobs import parameter, sink, source

servers, topic = parameter("servers"), parameter("topic")

@source
def records(spark):
    options = {"kafka.bootstrap.servers": servers, "subscribe": topic, "fetchOffset.numRetries": "1"}
    return spark.readStream.format("moldau").options(**options).load()

@sink(format="noop")
def out(records):
    return records
"""


def test_the_command_tells_an_error_of_a_source_in_a_line_and_with_debug_where_it_was(
    spark: SparkSession,
    cluster: LocalCluster,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In the tests' own session, since a process of its own would start another."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(launch, "start_session", lambda *_, **__: spark)
    monkeypatch.setattr(type(spark), "stop", lambda _: None)
    Path("missing.py").write_text(MISSING)
    words = ["pipeline", "run", "missing.py", "--once", "--set", f"servers={cluster.bootstrap_servers}"]
    assert main.run([*words, "--set", f"topic={topic}"]) == 1
    told = capsys.readouterr().err
    assert told == (
        f"moldau: sink out: subscribe='{topic}': there is no {topic} in the cluster at {cluster.bootstrap_servers}. "
        "Create what is missing with kafka-topics --create, or correct the option\n"
    )
    assert main.run([*words, "--set", f"topic={topic}", "--debug"]) == 1
    with_stack = capsys.readouterr().err
    assert with_stack.startswith(told)
    assert "offset_finder.py" in with_stack
    assert "StreamingQueryException" in with_stack


def test_a_run_stops_when_it_is_told_to(spark: SparkSession, tmp_path: Path) -> None:
    text = (
        "[source.rates]\nformat = 'rate'\noptions = { rowsPerSecond = 10 }\n[[sink]]\ntable = 'rates'\nformat = 'noop'"
    )
    said, stopping = Said(), threading.Event()
    run = Run(written(tmp_path, text), spark, str(tmp_path / "checkpoint"), said, stopping=stopping)
    thread = threading.Thread(target=run.go)
    thread.start()
    try:
        for _ in range(300):
            if said.reports:
                break
            thread.join(0.1)
    finally:
        stopping.set()
        thread.join(60)
    assert said.reports
    assert said.lines[-1] == "closed"
    assert spark.streams.active == []
