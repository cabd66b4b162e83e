"""Statement 46 of the first book with our consumer, and with two that others wrote.

`auto.offset.reset` counts only where the group has no offset, or one that the log does not have.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing

import confluent_kafka
import kafka
import pytest
from kafka.errors import NoOffsetForPartitionError, OffsetOutOfRangeError

from moldau import Admin, Consumer, TopicPartition
from moldau.clients.consumer.errors import NoOffsetForPartition, OffsetOutOfRange
from moldau.testing.local_cluster import LocalCluster
from tests.clients.records_to_consume import new_group, produce

PATIENCE_S = 20.0
BEGINNING, END = 2, 6
NO_OFFSET = "no offset"
OUT_OF_RANGE = "out of range"

Outcome = int | str
"""The offset of the first record that came, or why none will."""


def ours(address: str, group: str, topic: str, reset: str) -> Outcome:
    settings = {"bootstrap.servers": address, "group.id": group, "enable.auto.commit": False}
    with Consumer(settings, auto_offset_reset=reset) as consumer:
        consumer.assign([(topic, 0)])
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                records = consumer.poll(0.5)
            except NoOffsetForPartition:
                return NO_OFFSET
            except OffsetOutOfRange:
                return OUT_OF_RANGE
            if records:
                return records[0].offset
            if reset == "latest" and consumer.position((topic, 0)) == END:
                return END
    raise AssertionError("nothing came")


def of_kafka_python(address: str, group: str, topic: str, reset: str) -> Outcome:
    partition = kafka.TopicPartition(topic, 0)
    with closing(
        kafka.KafkaConsumer(
            bootstrap_servers=address, group_id=group, enable_auto_commit=False, auto_offset_reset=reset
        )
    ) as consumer:
        consumer.assign([partition])
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                records = consumer.poll(500).get(partition)
            except NoOffsetForPartitionError:
                return NO_OFFSET
            except OffsetOutOfRangeError:
                return OUT_OF_RANGE
            if records:
                return int(records[0].offset)
            if reset == "latest" and consumer.position(partition) == END:
                return END
    raise AssertionError("nothing came")


def of_confluent(address: str, group: str, topic: str, reset: str) -> Outcome:
    """librdkafka calls `none` `error`, and has one code for both reasons: its text tells them apart."""
    settings = {"bootstrap.servers": address, "group.id": group, "enable.auto.commit": False, "log_level": 0}
    policy = {"auto.offset.reset": "error" if reset == "none" else reset, "enable.partition.eof": True}
    with closing(confluent_kafka.Consumer({**settings, **policy})) as consumer:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0)])
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        error = message.error()
        if error is None or error == confluent_kafka.KafkaError._PARTITION_EOF:
            return int(message.offset() or 0)
        assert error == confluent_kafka.KafkaError._AUTO_OFFSET_RESET
        return OUT_OF_RANGE if "out of range" in str(error).lower() else NO_OFFSET


@pytest.fixture
def trimmed(moldau_cluster: LocalCluster, moldau_topic: str, address: str) -> str:
    """A topic whose log has lost its first records."""
    produce(moldau_cluster, moldau_topic, [b"v"] * END)
    with Admin(bootstrap_servers=address) as admin:
        admin.delete_records({TopicPartition(moldau_topic, 0): BEGINNING})
    return moldau_topic


@pytest.mark.parametrize("read", [ours, of_kafka_python, of_confluent])
@pytest.mark.parametrize(
    ("committed", "reset", "expected"),
    [
        (None, "earliest", BEGINNING),
        (None, "latest", END),
        (None, "none", NO_OFFSET),
        (4, "earliest", 4),
        (4, "latest", 4),
        (4, "none", 4),
        (1, "earliest", BEGINNING),
        (1, "latest", END),
        (1, "none", OUT_OF_RANGE),
        (9, "earliest", BEGINNING),
        (9, "latest", END),
        (9, "none", OUT_OF_RANGE),
    ],
)
def test_statement_46_reset_counts_without_an_offset_or_out_of_range_only(
    address: str,
    trimmed: str,
    read: Callable[[str, str, str, str], Outcome],
    committed: int | None,
    reset: str,
    expected: Outcome,
) -> None:
    group = f"statement-46-{new_group()}"
    if committed is not None:
        with Admin(bootstrap_servers=address) as admin:
            admin.alter_consumer_group_offsets(group, {TopicPartition(trimmed, 0): committed})
    assert read(address, group, trimmed, reset) == expected
