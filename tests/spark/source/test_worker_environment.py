"""A registered source's environment does not change when a query starts: other queries' tasks carry the same map."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import moldau.pipeline
from moldau.pipeline.datasource import MoldauDataSource
from moldau.testing.local_cluster import LocalCluster

pytestmark = [pytest.mark.slow, pytest.mark.java]


@pytest.mark.parametrize("by_us", [True, False], ids=["by moldau", "by Spark alone"])
def test_a_starting_query_adds_nothing(
    spark: SparkSession, cluster: LocalCluster, topic: str, tmp_path: Path, by_us: bool
) -> None:
    cluster.create_topic(topic)
    session = spark.newSession()
    environment_before = dict(session.sparkContext.environment)
    if by_us:
        moldau.pipeline.register(session)
    else:
        session.dataSource.register(MoldauDataSource)
    assert session.sparkContext.environment == environment_before

    names = names_given(session)
    options = {"kafka.bootstrap.servers": cluster.bootstrap_servers, "subscribe": topic}
    rows = session.readStream.format("moldau").options(**options).load()
    query = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
    assert query.start().awaitTermination(60)

    # What Spark does without us is looked at too: should it mend this, all of it can go.
    assert (names_given(session) == names) is by_us


def names_given(session: SparkSession) -> set[str]:
    state = session._jsparkSession.sessionState()
    return set(state.dataSourceManager().lookupDataSource("moldau").dataSourceCls().envVars())
