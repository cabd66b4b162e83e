"""The same transactional requests to Apache Kafka 3.9.1 and to our broker: the same codes, and the same logs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.net.channel import Channel
from moldau.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from moldau.protocol.schema import Message
from moldau.protocol.stored import decode_versioned, leading_number
from moldau.protocol.stored.transaction_log import TransactionLogValue
from moldau.records.reader import read_batch
from moldau.records.walk import batches
from moldau.testing.local_cluster import LocalCluster
from tests.compat.jvm_kafka import jvm_kafka
from tests.unit.coordinator.transaction.transactional_requests import Transactional, listed, read, write_marker

pytestmark = [pytest.mark.java, pytest.mark.slow]

Noted = list[tuple[str, object]]


class Remote:
    """A broker at an address."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._address = host, int(port)

    def request(self, request: Message, version: int | None = None) -> Any:
        async def ask() -> Any:
            channel = Channel(*self._address)
            try:
                return await channel.request(request, version)
            finally:
                channel.close()

        return asyncio.run(ask())


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Remote, Remote]]:
    folder: Path = tmp_path_factory.mktemp("kafka")
    settings = {"transaction.state.log.num.partitions": "1", "offsets.topic.num.partitions": "1"}
    with jvm_kafka(folder) as kafka, LocalCluster(settings) as moldau:
        remotes = Remote(kafka.bootstrap), Remote(moldau.bootstrap_servers)
        for remote in remotes:
            topic = CreatableTopic(name="t", num_partitions=2, replication_factor=1)
            remote.request(CreateTopicsRequest(topics=[topic], timeout_ms=10_000))
            Transactional(remote, "first").init()
            time.sleep(0.5)
        yield remotes


def of_identities(broker: Remote) -> Noted:
    """InitProducerId."""
    one = Transactional(broker, "identity")
    noted: Noted = [("first", one.init()[2])]
    for timeout_ms in (0, -1, 900_001):
        noted.append((f"timeout {timeout_ms}", one.init_once(timeout_ms=timeout_ms)))
    noted.append(("an empty id", Transactional(broker, "").init_once()))
    noted += [("half", one.init_once(producer_id=5)), ("other half", one.init_once(producer_epoch=5))]
    zombie = Transactional(broker, "identity", one.producer_id, 0)
    noted.append(("second", one.init()[2]))
    old = {"producer_id": zombie.producer_id, "producer_epoch": 0}
    noted += [(f"a zombie resumes in version {version}", zombie.init_once(version, **old)[0]) for version in (3, 4)]
    own = {"producer_id": one.producer_id, "producer_epoch": one.producer_epoch}
    noted += [(f"resumed {again}", one.init_once(**own)[2]) for again in range(2)]
    one.init()
    one.add("t", 0)
    noted.append(("over an open transaction", one.init_once()[0]))
    noted.append(("and then", one.init()[2]))
    return noted


def of_partitions(broker: Remote) -> Noted:
    """AddPartitionsToTxn."""
    one, nobody = Transactional(broker, "partitions"), Transactional(broker, "nobody", 1, 0)
    one.init()
    noted: Noted = [("of nobody", nobody.add("t", 0)), ("without an id", Transactional(broker, "", 1, 0).add("t", 0))]
    missing = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="partitions",
        v3_and_below_producer_id=one.producer_id,
        v3_and_below_producer_epoch=one.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name="t", partitions=[0, 9])],
    )
    (topic,) = broker.request(missing, 3).results_by_topic_v3_and_below
    codes = sorted((each.partition_index, each.partition_error_code) for each in topic.results_by_partition)
    noted += [("one is missing", codes), ("good", one.add("t", 0)), ("again", one.add("t", 0))]
    stranger = Transactional(broker, "partitions", one.producer_id + 10_000, 0)
    noted.append(("another producer id", stranger.add("t", 0)))
    ahead = Transactional(broker, "partitions", one.producer_id, one.producer_epoch + 1)
    noted += [(f"another epoch in version {version}", ahead.add("t", 0, version=version)) for version in range(4)]
    asked = [one.transaction("t", 0), one.transaction("t", 1)]
    for transaction in (*asked, nobody.transaction("t", 0), ahead.transaction("t", 0)):
        answer = broker.request(AddPartitionsToTxnRequest(transactions=[transaction]), 4)
        (result,) = answer.results_by_transaction[0].topic_results[0].results_by_partition
        noted.append(("verified", (answer.error_code, result.partition_error_code)))
    one.end(False)
    noted.append(("ended", one.wait_for("CompleteAbort")))
    return noted


def of_records_and_ends(broker: Remote) -> Noted:
    """Produce, EndTxn, DescribeTransactions and ListTransactions."""
    one = Transactional(broker, "records")
    one.init()
    noted: Noted = [(f"nothing to end {committed}", one.end(committed)) for committed in (True, False)]
    noted += [("of nobody", Transactional(broker, "nobody", 1, 0).end(True))]
    noted += [("without an id", Transactional(broker, "", 1, 0).end(True))]
    noted += [(f"not added, version {version}", one.produce("t", b"x", 0, version)) for version in (3, 9, 10, 11)]
    noted.append(("no transactional id", one.produce("t", b"x", transactional_id=None)))
    noted += [("added", one.add("t", 0)), ("written", one.produce("t", b"x"))]
    state = one.describe()
    topics = [(topic.topic, topic.partitions) for topic in state.topics]
    noted.append(("described", (state.transaction_state, state.transaction_timeout_ms, topics)))
    ahead = Transactional(broker, "records", one.producer_id, one.producer_epoch + 1)
    noted += [(f"another epoch, version {version}", ahead.end(True, version)) for version in range(4)]
    for first, last in ((True, "CompleteCommit"), (False, "CompleteAbort")):
        noted += [("end", one.end(first)), ("ended", one.wait_for(last))]
        noted += [(f"again {committed}", one.end(committed)) for committed in (True, False)]
        noted += [(f"late, version {version}", one.produce("t", b"late", 0, version)) for version in (9, 11)]
        noted.append(("described", [topic.topic for topic in one.describe().topics]))
        one.add("t", 0)
    zombie = Transactional(broker, "records", one.producer_id, one.producer_epoch, dict(one.sequences))
    one.init()
    noted += [("a zombie adds", zombie.add("t", 0)), ("and writes", zombie.produce("t", b"zombie"))]
    noted += [(name, Transactional(broker, name).describe().error_code) for name in ("unknown", "")]
    for filters in ({"state_filters": ["Foo", "Empty"]}, {"state_filters": ["Foo"]}, {"duration_filter": 0}):
        found = listed(broker, **filters)
        names = sorted(each.transactional_id for each in found.transaction_states)
        noted.append((str(filters), (found.error_code, found.unknown_state_filters, names)))
    noted.append(("in the partition", read(broker, "t", 0)))
    return noted


def of_markers(broker: Remote) -> Noted:
    """WriteTxnMarkers."""
    producer = {"producer_id": 777_777}
    return [
        ("unknown topic", write_marker(broker, "nope", **producer)),
        ("unknown partition", write_marker(broker, "t", 7, **producer)),
        ("written", write_marker(broker, "t", 1, producer_epoch=3, coordinator_epoch=5, **producer)),
        ("old coordinator", write_marker(broker, "t", 1, producer_epoch=3, coordinator_epoch=4, **producer)),
        ("old producer", write_marker(broker, "t", 1, producer_epoch=2, coordinator_epoch=6, **producer)),
        ("in the partition", read(broker, "t", 1)),
    ]


def stored(broker: Remote) -> list[tuple[int, TransactionLogValue]]:
    """What is in `__transaction_state`, without what must differ; with the version of each value."""
    one = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(topics=[FetchTopic(topic="__transaction_state", partitions=[one])], max_bytes=1 << 20)
    data = broker.request(request, 12).responses[0].partitions[0]
    found = []
    for batch in batches(bytes(data.records)):
        for record in read_batch(batch):
            assert record.value is not None
            value = decode_versioned(TransactionLogValue, record.value)
            has_started = value.transaction_start_timestamp_ms > 0
            value.producer_id = value.transaction_last_update_timestamp_ms = 0
            value.transaction_start_timestamp_ms = int(has_started)
            found.append((leading_number(record.value), value))
    return found


def test_both_answer_the_same_and_write_the_same(both: tuple[Remote, Remote]) -> None:
    for scenario in (of_identities, of_partitions, of_records_and_ends, of_markers):
        kafka, moldau = (scenario(broker) for broker in both)
        assert [(name, code_of(outcome)) for name, outcome in moldau] == [
            (name, code_of(outcome)) for name, outcome in kafka
        ]
    kafka_log, moldau_log = (stored(broker) for broker in both)
    assert moldau_log == kafka_log


def code_of(outcome: object) -> object:
    """Codes by their names, so that a difference can be read."""
    return outcome.name if isinstance(outcome, ErrorCode) else outcome
