"""What is wrong with a pipeline is told before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from moldau.pipeline.jobs.checking import check_all
from moldau.pipeline.jobs.definition import PipelineError
from moldau.testing.local_cluster import LocalCluster
from tests.broker_process import free_port
from tests.spark.jobs.runs import written

pytestmark = [pytest.mark.slow, pytest.mark.java]

RATES = '[source.rates]\nformat = "rate"\n'
TOPICS = '[source.records]\nservers = "{servers}"\ntopic = "{topic}"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "[[step]]\nname='a'\nsql='SELECT nothing FROM rates'\n[[sink]]\ntable='a'\nformat='noop'",
            "step a: [UNRESOLVED",
        ),
        ("[[step]]\nname='a'\nsql='SELEKT 1'\n[[sink]]\ntable='a'\nformat='noop'", "step a: [PARSE_SYNTAX_ERROR]"),
        ("[[step]]\nname='a'\nsql='SELECT * FROM rat'\n[[sink]]\ntable='a'\nformat='noop'", "TABLE_OR_VIEW_NOT_FOUND"),
        (
            "[[step]]\nname='a'\nsql='SELECT count(*) AS n FROM rates'\n[[sink]]\ntable='a'\nformat='noop'",
            "sink a: mode 'append' cannot be: ",
        ),
        ("[[sink]]\ntable='rates'\nformat='parquet'\npath='x'\npartition_by='day'", "partition_by 'day' is no column"),
        ("[[sink]]\ntable='rates'\nformat='noop'\nkey='nothing'", "sink rates: [UNRESOLVED"),
        (
            "[[sink]]\ntable='rates'\nformat='state'\nservers='x:1'\ntopic='t'\nkey='k'\nschema='k INT'\nsql='SELECT'",
            "a state is made of records, with a column topic",
        ),
    ],
)
def test_sql_columns_and_modes(spark: SparkSession, tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(PipelineError) as raised:
        check_all(written(tmp_path, RATES + text), spark)
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("select", "more", "told"),
    [
        ("value", "", "the column value is bigint, but has to be string or binary"),
        ("1 AS one", "", "a record needs a column value, but the table has: one int"),
        ("'v' AS value, 1 AS one", "", "a record has no 'one', only topic, key, value, headers, partition, timestamp"),
        ("'v' AS value", "key = '1'", "the column key is int, but has to be string or binary"),
        ("'v' AS value, 1L AS partition", "", "the column partition is bigint, but has to be int"),
        ("'v' AS value", "topic = ''", "lacks topic"),
    ],
)
def test_the_columns_of_a_record(
    spark: SparkSession, cluster: LocalCluster, topic: str, tmp_path: Path, select: str, more: str, told: str
) -> None:
    cluster.create_topic(topic)
    place = more if "topic" in more else f"topic = '{topic}'\n{more}"
    step = f'[[step]]\nname = "a"\nsql = "SELECT {select} FROM rates"\n'
    sink = f"[[sink]]\ntable = 'a'\nservers = '{cluster.bootstrap_servers}'\n{place}"
    with pytest.raises(PipelineError) as raised:
        check_all(written(tmp_path, RATES + step + sink), spark)
    assert f"sink a{' ' if told.startswith('lacks') else ': '}{told}" in str(raised.value)


def test_a_topic_that_is_not_there(spark: SparkSession, cluster: LocalCluster, topic: str, tmp_path: Path) -> None:
    source = TOPICS.format(servers=cluster.bootstrap_servers, topic=topic)
    with pytest.raises(PipelineError) as raised:
        check_all(written(tmp_path, f"{source}\n[[sink]]\ntable='records'\nformat='noop'"), spark)
    assert str(raised.value).startswith(f"source records: there is no topic '{topic}' at {cluster.bootstrap_servers}")
    assert "kafka-topics" in str(raised.value)


def test_a_cluster_that_is_not_there(
    spark: SparkSession, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moldau.pipeline.jobs.topics.ASK_S_MAX", 0.5)
    servers = f"127.0.0.1:{free_port()}"
    source = TOPICS.format(servers=servers, topic=topic)
    with pytest.raises(PipelineError, match=f"the cluster at {servers} cannot be asked for its topics"):
        check_all(written(tmp_path, f"{source}\n[[sink]]\ntable='records'\nformat='noop'"), spark)
