"""Our clients with Kafka 0.10.2, the oldest they work with, and 1.0: everything that these brokers serve."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from moldau import Admin, Consumer, Producer, TopicPartition
from moldau.base.errors import UnsupportedVersion
from moldau.clients.admin import ConfigResource, NewTopic, OffsetSpec
from tests.clients.records_to_consume import take
from tests.compat import jvm_kafka
from tests.java_tools import fetch_jars, require_java

pytestmark = [pytest.mark.java, pytest.mark.slow]

HERE = TopicPartition("t", 0)
RESOURCE = ConfigResource.topic("t")
# A class of the Java libraries that these brokers need was taken out of Java in version 11.
JAXB = "javax.xml.bind:jaxb-api:2.3.1"


@pytest.fixture(params=["0.10.2.2", "1.0.2"])
def old_kafka(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, str]]:
    require_java()
    jars = fetch_jars(f"org.apache.kafka:kafka_2.12:{request.param}", JAXB, transitive=True)
    monkeypatch.setattr(jvm_kafka, "kafka_jars", lambda: jars)
    with jvm_kafka.jvm_kafka(tmp_path, delete_topic_enable="true") as kafka:
        yield request.param, kafka.bootstrap


def test_old_brokers_are_administered_written_and_read(old_kafka: tuple[str, str]) -> None:
    version, bootstrap_servers = old_kafka
    with Admin(bootstrap_servers=bootstrap_servers) as admin:
        with pytest.raises(UnsupportedVersion, match="give num_partitions and replication_factor of t"):
            admin.create_topics(["t"])
        created = admin.create_topics([NewTopic("t", 2, 1)])["t"]
        assert (created.num_partitions, created.configs) == (-1, None)
        described = admin.describe_topics(["t", "never-made"], raise_errors=False)
        assert [each.leader for each in described["t"].partitions] == [1, 1]
        assert set(admin.list_topics()) == {"t"}
        assert admin.describe_cluster().controller == admin.list_nodes()[0]
        # Idempotence came with 0.11.
        with Producer(bootstrap_servers=bootstrap_servers, enable_idempotence=False) as producer:
            assert producer.send("t", b"x", partition=0).result(20).offset == 0
        settings = {"bootstrap.servers": bootstrap_servers, "auto.offset.reset": "earliest", "group.id": "g"}
        with Consumer(settings) as consumer:
            consumer.subscribe(["t"])
            assert [record.value for record in take(consumer, 1)] == [b"x"]
            consumer.commit()
            (member,) = admin.describe_consumer_groups(["g"])["g"].members
            assert member.assignment == frozenset({HERE, TopicPartition("t", 1)})
        assert [group.group_id for group in admin.list_groups()] == ["g"]
        assert "GROUP_ID_NOT_FOUND" in str(admin.describe_consumer_groups(["x"], raise_errors=False).errors["x"])
        admin.alter_consumer_group_offsets("g", {HERE: 0})
        committed = admin.list_consumer_group_offsets({"g": [HERE]})["g"][HERE]
        assert committed is not None
        assert committed.offset == 0
        assert admin.list_offsets({HERE: OffsetSpec.LATEST})[HERE].offset == 1
        with pytest.raises(UnsupportedVersion, match="IncrementalAlterConfigs"):
            admin.incremental_alter_configs({RESOURCE: {"retention.ms": "5"}})
        use_what_came_with_1_0(admin, newer=version == "1.0.2")
        admin.delete_topics(["t"])


def use_what_came_with_1_0(admin: Admin, *, newer: bool) -> None:
    if not newer:
        with pytest.raises(UnsupportedVersion, match="does not support CreatePartitions"):
            admin.create_partitions({"t": 3})
        with pytest.raises(UnsupportedVersion, match="the broker knows no transactions"):
            admin.fence_producers(["pay"])
        return
    admin.create_partitions({"t": 3})
    admin.alter_configs({RESOURCE: {"retention.ms": "5000"}})
    retention = admin.describe_configs([RESOURCE])[RESOURCE]["retention.ms"]
    assert (retention.value, retention.is_default) == ("5000", False)
    assert admin.delete_records({HERE: 1})[HERE].low_watermark == 1
    assert any(HERE in directory.replica_infos for directory in admin.describe_log_dirs([1])[1].values())
    assert admin.fence_producers(["pay"])["pay"].producer_epoch == 0
    with pytest.raises(Exception, match="SECURITY_DISABLED"):
        admin.describe_acls()
