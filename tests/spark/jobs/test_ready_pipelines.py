"""Ready pipelines on a broker, with what they write asserted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from moldau import Admin, Producer
from moldau.pipeline.jobs.ready import load_pipeline
from moldau.testing.local_cluster import LocalCluster
from tests.spark.jobs.runs import produce, records_of, run_once, values_of

pytestmark = [pytest.mark.slow, pytest.mark.java]

ORDERS: list[dict[str, Any]] = [
    {"id": number, "customer": f"c{number % 3}", "amount": number * 10} for number in range(30)
]
SUM = """
SELECT n.customer, coalesce(s.total, 0) + n.total AS total, coalesce(s.orders, 0) + n.orders AS orders
FROM (SELECT value.customer, sum(value.amount) AS total, count(*) AS orders FROM input GROUP BY 1) n
LEFT JOIN state s ON s.customer = n.customer
"""


def test_a_topic_becomes_a_table_and_the_table_a_topic(
    spark: SparkSession, cluster: LocalCluster, topic: str, tmp_path: Path
) -> None:
    servers, table, back = cluster.bootstrap_servers, str(tmp_path / "table"), f"{topic}-back"
    cluster.create_topic(topic, 2)
    cluster.create_topic(back, 2)
    produce(servers, topic, ORDERS, key="id")
    there = {"servers": servers, "topic": topic, "path": table, "trigger": "0 seconds"}
    run_once(load_pipeline("topic-to-table", there), spark, tmp_path)
    rows = spark.read.parquet(table)
    assert [each.name for each in Path(table).iterdir() if each.name.startswith("day=")] != []
    assert sorted(json.loads(row["value"])["id"] for row in rows.collect()) == list(range(30))

    select = "key, value, offset"
    run_once(
        load_pipeline(
            "table-to-topic", {"servers": servers, "topic": back, "path": table, "select": select, "key": "key"}
        ),
        spark,
        tmp_path,
    )
    records = records_of(servers, back)
    assert sorted(int(each.key) for each in records) == list(range(30))
    assert all(json.loads(json.loads(each.value)["value"])["id"] == int(each.key) for each in records)


def test_a_topic_goes_into_another_one_changed_by_sql_and_its_lag_is_seen(
    spark: SparkSession, cluster: LocalCluster, topic: str, tmp_path: Path
) -> None:
    servers, to = cluster.bootstrap_servers, f"{topic}-large"
    cluster.create_topic(topic, 2)
    cluster.create_topic(to)
    sql = "SELECT key, value FROM records WHERE CAST(get_json_object(CAST(value AS STRING), '$.amount') AS INT) >= 200"
    pipeline = load_pipeline("topic-to-topic", {"servers": servers, "topic": topic, "to": to, "sql": sql})
    for half in (ORDERS[:15], ORDERS[15:]):
        produce(servers, topic, half)
        run_once(pipeline, spark, tmp_path)
    assert sorted(each["id"] for each in values_of(servers, to)) == list(range(20, 30))
    with Admin(bootstrap_servers=servers) as admin:
        committed = admin.list_consumer_group_offsets(["topic-to-topic"])["topic-to-topic"]
    here = {partition: each.offset for partition, each in committed.items() if each and partition.topic == topic}
    assert sum(here.values()) == 30


def test_a_time_range_is_replayed(spark: SparkSession, cluster: LocalCluster, topic: str, tmp_path: Path) -> None:
    servers, to = cluster.bootstrap_servers, f"{topic}-again"
    cluster.create_topic(topic, 3)  # and nothing in the third partition
    cluster.create_topic(to)
    noon_ms = 1_769_860_800_000  # 2026-01-31T12:00:00Z
    with Producer(bootstrap_servers=servers) as producer:
        for minute in range(20):
            producer.send(
                topic,
                b"%d" % minute,
                key=b"k",
                headers=[("h", b"1")],
                timestamp=noon_ms + minute * 60_000,
                partition=minute % 2,
            )
    given = {
        "servers": servers,
        "topic": topic,
        "to": to,
        "from": "2026-01-31T12:05:00Z",
        "until": "2026-01-31T12:10:00Z",
    }
    run_once(load_pipeline("replay", given | {"where": "partition = 1"}), spark, tmp_path)
    records = records_of(servers, to)
    assert [(each.value, each.timestamp - noon_ms) for each in records] == [
        (b"5", 300_000),
        (b"7", 420_000),
        (b"9", 540_000),
    ]
    assert [list(each.headers) for each in records] == [[("h", b"1")]] * 3


@pytest.mark.parametrize("checkpoint_is_lost", [False, True])
def test_a_state_goes_on_from_its_changelog(
    spark: SparkSession, cluster: LocalCluster, topic: str, tmp_path: Path, checkpoint_is_lost: bool
) -> None:
    servers, changelog = cluster.bootstrap_servers, f"{topic}-changelog"
    cluster.create_topic(topic, 2)
    given = {
        "servers": servers,
        "topic": topic,
        "changelog": changelog,
        "columns": "id BIGINT, customer STRING, amount BIGINT",
        "key": "customer",
        "schema": "customer STRING, total BIGINT, orders BIGINT",
        "sql": SUM,
    }
    for number, half in enumerate((ORDERS[:15], ORDERS[15:])):
        produce(servers, topic, half)
        folder = tmp_path / str(number if checkpoint_is_lost else 0)
        folder.mkdir(exist_ok=True)
        run_once(load_pipeline("keyed-state", given), spark, folder)
    last = {each.key.decode(): json.loads(each.value) for each in records_of(servers, changelog)}
    assert last == {
        f"c{number}": {
            "total": sum(each["amount"] for each in ORDERS if each["customer"] == f"c{number}"),
            "orders": 10,
        }
        for number in range(3)
    }
    with Admin(bootstrap_servers=servers) as admin:
        committed = admin.list_consumer_group_offsets(["keyed-state"])["keyed-state"]
    assert sum(each.offset for partition, each in committed.items() if each and partition.topic == topic) == 30


def test_a_row_with_nothing_but_its_key_is_a_deletion(
    spark: SparkSession, cluster: LocalCluster, topic: str, tmp_path: Path
) -> None:
    servers, changelog = cluster.bootstrap_servers, f"{topic}-changelog"
    cluster.create_topic(topic)
    given = {
        "servers": servers,
        "topic": topic,
        "changelog": changelog,
        "columns": "customer STRING, amount BIGINT",
        "key": "customer",
        "schema": "customer STRING, last BIGINT",
        "sql": "SELECT value.customer, max_by(value.amount, offset) AS last FROM input GROUP BY 1",
    }
    run_once(load_pipeline("keyed-state", given), spark, _with(servers, topic, tmp_path, a=1, b=2))
    run_once(load_pipeline("keyed-state", given), spark, _with(servers, topic, tmp_path, a=None))
    records = [(each.key, each.value) for each in records_of(servers, changelog)]
    assert sorted(records[:2]) == [(b"a", b'{"last":1}'), (b"b", b'{"last":2}')]
    assert records[2:] == [(b"a", None)]


def _with(servers: str, topic: str, folder: Path, **amounts: int | None) -> Path:
    produce(servers, topic, [{"customer": name, "amount": amount} for name, amount in amounts.items()])
    return folder
