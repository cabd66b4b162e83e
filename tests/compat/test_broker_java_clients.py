"""The Java clients themselves: consumers of many partitions, and clients from 0.10.2 on, take the broker for Kafka."""

from __future__ import annotations

import pytest

from tests.compat.kafka_tools import SOURCES, KafkaTools
from tests.compat.test_clients_and_records import CODECS
from tests.java_tools import fetch_jars, require_java, run_java

pytestmark = [pytest.mark.java, pytest.mark.slow]

COUNT = 500
SINCE_2_1 = "zstd"


def test_a_consumer_of_many_partitions_misses_nothing(tools: KafkaTools, address: str, topic: str) -> None:
    """Its fetch sessions gain, lose and change partitions, and its limits never hold what there is."""
    topics, partitions, rounds = "4", "10", "20"
    assert tools.run("many-partitions", address, topic, topics, partitions, rounds) == "all is read\n"


@pytest.mark.parametrize("version", ["0.10.2.2", "0.11.0.3", "1.1.1", "2.8.2"])
def test_old_clients_read_what_they_have_written(address: str, topic: str, version: str) -> None:
    require_java()
    jars = fetch_jars(f"org.apache.kafka:kafka-clients:{version}", "org.slf4j:slf4j-nop:1.7.36", transitive=True)
    codecs = CODECS if version == "2.8.2" else [codec for codec in CODECS if codec != SINCE_2_1]
    printed = run_java(SOURCES / "OldClient.java", jars, address, topic, str(COUNT), *codecs)
    assert printed.splitlines() == [f"{codec} {COUNT}" for codec in codecs]
