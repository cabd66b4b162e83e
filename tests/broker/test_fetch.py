"""Fetch as clients of all ages send it: limits, waiting, isolation, epochs, sessions, and every refusal."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from moldau.records.batch import Producer
from moldau.records.compression import CompressionType
from moldau.records.control import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
from moldau.records.legacy import entries
from moldau.records.reader import read_batch
from moldau.records.walk import batches
from moldau.storage.producer_append import AppendOrigin
from tests.broker.requests_to_broker import Broker, records


def values_of(data: bytes | memoryview | None) -> list[bytes | None]:
    return [record.value for batch in batches(data or b"") for record in read_batch(batch)]


@pytest.mark.parametrize("version", range(4, 19))
def test_every_version_since_0_11_gets_the_batches_as_they_are(broker: Broker, moldau_topic: str, version: int) -> None:
    broker.produce(moldau_topic, records(b"a", b"b"))
    answer = broker.fetch(moldau_topic, version=version)
    assert (answer.error_code, answer.high_watermark, values_of(answer.records)) == (0, 2, [b"a", b"b"])


@pytest.mark.parametrize("version", range(4))
def test_versions_before_0_11_get_message_sets(broker: Broker, moldau_topic: str, version: int) -> None:
    broker.produce(moldau_topic, records(b"a", b"b"))
    answer = broker.fetch(moldau_topic, version=version)
    found = list(entries(bytes(answer.records or b"")))
    assert [entry.magic for entry in found] == [0 if version < 2 else 1] * 2
    assert [record.value for entry in found for record in entry.records()] == [b"a", b"b"]


def test_zstd_is_refused_to_versions_that_do_not_know_it(broker: Broker, moldau_topic: str) -> None:
    broker.produce(moldau_topic, records(b"a" * 100, compression_type=CompressionType.ZSTD))
    assert broker.fetch(moldau_topic, version=3).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def test_a_fetch_from_the_middle_of_a_batch_gets_the_whole_batch(broker: Broker, moldau_topic: str) -> None:
    broker.produce(moldau_topic, records(b"a", b"b", b"c"))
    assert values_of(broker.fetch(moldau_topic, 1).records) == [b"a", b"b", b"c"]


def test_limits_cut_batches_but_never_the_first(broker: Broker, moldau_topic: str) -> None:
    for _ in range(3):
        broker.produce(moldau_topic, records(b"x" * 1000))
    assert len(values_of(broker.fetch(moldau_topic, partition_max_bytes=1).records)) == 1
    assert len(values_of(broker.fetch(moldau_topic, max_bytes=2500).records)) == 2


@pytest.mark.parametrize("version", range(3))
def test_old_versions_get_a_part_of_a_batch_that_is_too_large(broker: Broker, moldau_topic: str, version: int) -> None:
    """So that their clients see that there is more than they have asked for."""
    broker.produce(moldau_topic, records(b"x" * 1000))
    answer = broker.fetch(moldau_topic, version=version, partition_max_bytes=100)
    assert len(answer.records or b"") == 100
    assert list(entries(bytes(answer.records or b""))) == []


@pytest.mark.parametrize("version", [3, 4, 12])
def test_only_the_first_partition_exceeds_the_limit(broker: Broker, version: int) -> None:
    """A second batch that does not fit is left out: in part it would look like one that is too large for the client."""
    topic = f"two-partitions-{version}"
    broker.cluster.create_topic(topic, 2)
    for partition in range(2):
        broker.produce(topic, records(b"x" * 1000), partition=partition)
    wanted = [FetchPartition(partition=partition, partition_max_bytes=5000) for partition in range(2)]
    request = FetchRequest(topics=[FetchTopic(topic=topic, partitions=wanted)], max_bytes=1500)
    first, second = broker.cluster.request(request, version).responses[0].partitions
    assert len(first.records or b"") > 1000
    assert (second.error_code, second.high_watermark, second.records or b"") == (0, 1, b"")


@pytest.mark.parametrize("offset", [-1, 3])
def test_an_offset_that_the_log_does_not_have(broker: Broker, moldau_topic: str, offset: int) -> None:
    broker.produce(moldau_topic, records(b"a", b"b"))
    answer = broker.fetch(moldau_topic, offset)
    assert (answer.error_code, answer.high_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)


def test_an_unknown_topic_and_an_unknown_partition(broker: Broker, moldau_topic: str) -> None:
    assert broker.fetch("no-topic-of-this-name").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert broker.fetch(moldau_topic, partition=7).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_an_unknown_topic_id(broker: Broker) -> None:
    wanted = FetchTopic(topic_id=b"?" * 16, partitions=[FetchPartition(partition_max_bytes=100)])
    answer = broker.cluster.request(FetchRequest(topics=[wanted]), 13)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_leader_epochs_of_the_past_and_of_the_future(broker: Broker, moldau_topic: str) -> None:
    assert broker.fetch(moldau_topic, current_leader_epoch=0).error_code == 0
    assert broker.fetch(moldau_topic, current_leader_epoch=5).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_an_empty_fetch_waits_and_is_answered_when_its_time_is_up(broker: Broker, moldau_topic: str) -> None:
    started = time.perf_counter()
    answer = broker.fetch(moldau_topic, max_wait_ms=200, min_bytes=1)
    assert (answer.error_code, answer.records) == (0, b"")
    assert 0.19 < time.perf_counter() - started < 2


def test_a_waiting_fetch_is_answered_by_the_next_produce(broker: Broker, moldau_topic: str) -> None:
    later = threading.Timer(0.1, broker.produce, (moldau_topic, records(b"late")))
    later.start()
    started = time.perf_counter()
    answer = broker.fetch(moldau_topic, max_wait_ms=10_000, min_bytes=1)
    later.join()
    assert values_of(answer.records) == [b"late"]
    assert time.perf_counter() - started < 5


def test_a_fetch_waits_for_as_many_bytes_as_it_wants(broker: Broker, moldau_topic: str) -> None:
    def produce_twice() -> None:
        broker.produce(moldau_topic, records(b"x" * 500))
        time.sleep(0.1)
        broker.produce(moldau_topic, records(b"y" * 500))

    later = threading.Timer(0.1, produce_twice)
    later.start()
    answer = broker.fetch(moldau_topic, max_wait_ms=10_000, min_bytes=1000)
    later.join()
    assert len(values_of(answer.records)) == 2


def test_a_waiting_fetch_hears_that_its_topic_is_deleted(broker: Broker) -> None:
    broker.cluster.create_topic("soon-gone")
    later = threading.Timer(0.1, broker.cluster.delete_topic, ("soon-gone",))
    later.start()
    answer = broker.fetch("soon-gone", max_wait_ms=10_000, min_bytes=1)
    later.join()
    assert answer.error_code in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER)


def test_committed_readers_stop_at_an_open_transaction_and_hear_of_aborted_ones(
    broker: Broker, moldau_topic: str
) -> None:
    key = moldau_topic, 0
    data = records(b"t", producer=Producer(99, 0, 0), transactional=True)
    broker.cluster.run_in_loop(lambda node: node.replicas.append(key, bytearray(data), -1))
    broker.produce(moldau_topic, records(b"plain"))
    open_ = broker.fetch(moldau_topic, isolation_level=1)
    assert (open_.last_stable_offset, open_.high_watermark, values_of(open_.records)) == (0, 2, [])
    assert values_of(broker.fetch(moldau_topic).records) == [b"t", b"plain"]
    marker = build_end_transaction_marker(EndTransactionMarker(ControlRecordType.ABORT, 0), 99, 0, 1)
    broker.cluster.run_in_loop(lambda node: node.replicas.append(key, bytearray(marker), -1, AppendOrigin.COORDINATOR))
    closed = broker.fetch(moldau_topic, isolation_level=1)
    assert closed.last_stable_offset == 3
    assert [(one.producer_id, one.first_offset) for one in closed.aborted_transactions or []] == [(99, 0)]


def session_fetch(broker: Broker, session_id: int, epoch: int, topics: dict[str, int], **more: Any) -> Any:
    wanted = [
        FetchTopic(topic=topic, partitions=[FetchPartition(fetch_offset=offset, partition_max_bytes=1000)])
        for topic, offset in topics.items()
    ]
    request = FetchRequest(session_id=session_id, session_epoch=epoch, topics=wanted, max_bytes=10_000, **more)
    return broker.cluster.request(request, 12)


def test_a_session_tells_only_what_is_new(broker: Broker) -> None:
    for topic in ("session-a", "session-b"):
        broker.cluster.create_topic(topic)
    full = session_fetch(broker, 0, 0, {"session-a": 0, "session-b": 0})
    session_id = full.session_id
    assert session_id > 0
    assert len(full.responses) == 2
    idle = session_fetch(broker, session_id, 1, {})
    assert idle.responses == []
    broker.produce("session-b", records(b"x"))
    news = session_fetch(broker, session_id, 2, {})
    assert [topic.topic for topic in news.responses] == ["session-b"]
    forgotten = [ForgottenTopic(topic="session-b", partitions=[0])]
    rest = session_fetch(broker, session_id, 3, {}, forgotten_topics_data=forgotten)
    assert rest.responses == []


def test_a_stale_session_epoch_and_an_unknown_session(broker: Broker, moldau_topic: str) -> None:
    full = session_fetch(broker, 0, 0, {moldau_topic: 0})
    session_id = full.session_id
    stale = session_fetch(broker, session_id, 5, {})
    assert stale.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    unknown = session_fetch(broker, 123_456_789, 1, {})
    assert unknown.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
