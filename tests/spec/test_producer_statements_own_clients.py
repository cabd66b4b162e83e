"""What the first book's numbered statements say of producers, with `moldau.Producer`: 16 to 35.

What other tests show with our clients already is not repeated:

    statement   is shown by
    20          tests/clients/test_producer_sending.py      test_round_robin_by_its_java_name (not the default any more)
    22          tests/examples/test_producer_programs.py    test_audit_records_have_the_last_partition_to_themselves
    23          tests/clients/test_producer_sending.py      test_exactly_one_of_metadata_and_error_is_none_in_a_callback
                tests/examples/test_producer_programs.py    test_each_way_of_sending_says_where_the_record_went
    29          tests/clients/test_producer_faults.py       test_a_full_buffer_blocks_and_then_says_so
    31          tests/clients/test_producer_faults.py       test_close_sends_what_waits_and_close_0_drops_it
    32          tests/examples/test_producer_programs.py    test_interceptors_see_every_record_and_are_closed
                tests/clients/test_producer_sending.py      test_interceptors_see_records_and_acknowledgements_and_…
    33          tests/examples/test_producer_programs.py    test_a_user_goes_there_and_back
    35          tests/clients/test_producer_sending.py      test_many_threads_share_a_producer
                tests/examples/test_producer_programs.py    test_threads_lose_nothing

36 is in `test_no_loss_own_clients.py`. In 17 we differ from Kafka on purpose: what is not said is bytes. Which codec is
the fastest (34) is measured in `bench/` and not tested.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from kafka.partitioner.default import murmur2

from moldau import Admin, Producer
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, ConfigError
from moldau.broker.handlers import produce as broker_produce
from moldau.broker.handlers.produce import Appending
from moldau.broker.node import Node
from moldau.clients.errors import RecordTooLarge, TimedOut
from moldau.protocol.messages.produce import ProduceResponse
from moldau.testing.local_cluster import LocalCluster
from tests.clients.stored_records import stored, stored_batches
from tests.spec.conftest import StartBroker
from tests.spec.foreign_clients import eventually

Append = Callable[[Appending], ProduceResponse | None]
Meddle = Callable[[Callable[[Append, Appending], ProduceResponse | None]], None]

PATIENCE_S = 20.0
CRC_AT = 17  # what comes before it, a broker fills in


@pytest.fixture(scope="module")
def three() -> Iterator[LocalCluster]:
    with LocalCluster(brokers=3) as cluster:
        yield cluster


@pytest.fixture
def meddle(monkeypatch: pytest.MonkeyPatch) -> Meddle:
    """Have a function of the test's called once in place of the broker's next append; it is given the real one."""
    real = broker_produce.append
    monkeypatch.setattr(broker_produce, "produce_plain", lambda *_: False)  # the short way around `append`

    def arm(fault: Callable[[Append, Appending], ProduceResponse | None]) -> None:
        faults = [fault]
        monkeypatch.setattr(
            broker_produce, "append", lambda appending: faults.pop()(real, appending) if faults else real(appending)
        )

    return arm


def values_of(cluster: LocalCluster, topic: str, partition: int = 0) -> list[bytes | None]:
    return [record.value for record in stored(cluster, topic, partition)]


def test_statement_16_a_record_that_is_too_large_is_refused_and_not_sent_again(start_broker: StartBroker) -> None:
    cluster = start_broker(**{"message.max.bytes": "10000"})
    cluster.create_topic("small")
    with Producer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        refused = producer.send("small", bytes(20_000)).exception(PATIENCE_S)
        assert isinstance(refused, RecordTooLarge)
        assert refused.code is ErrorCode.MESSAGE_TOO_LARGE
        assert (producer.metrics()["record-retry-total"], producer.metrics()["request-total"]) == (0, 1)
        assert producer.send("small", bytes(9_000)).result(PATIENCE_S).offset == 0


def test_statement_17_a_serializer_that_is_missing_is_that_for_bytes_and_a_wrong_one_is_named(
    address: str, moldau_cluster: LocalCluster, moldau_topic: str
) -> None:
    with Producer(bootstrap_servers=address) as producer:
        producer.send(moldau_topic, b"\xff")
    assert values_of(moldau_cluster, moldau_topic) == [b"\xff"]
    with pytest.raises(ConfigError, match=r"key\.serializer"):
        Producer({"bootstrap.servers": address, "key.serializer": "org.example.NoSuchSerializer"})
    with pytest.raises(ConfigError, match=r"bootstrap\.servers"):
        Producer()


def test_statement_18_one_broker_of_three_is_enough_to_reach_all_leaders(three: LocalCluster) -> None:
    three.create_topic("everywhere", 3)
    with Producer(bootstrap_servers=three.bootstrap_servers.split(",")[1]) as producer:
        assert {each.leader for each in producer.partitions_for("everywhere")} == {0, 1, 2}
        written = [producer.send("everywhere", b"v", partition=number).result(PATIENCE_S) for number in range(3)]
    assert [(each.partition, each.offset) for each in written] == [(0, 0), (1, 0), (2, 0)]


def test_statement_19_a_key_goes_where_murmur2_says(address: str, moldau_cluster: LocalCluster) -> None:
    moldau_cluster.create_topic("statement-19", 7)
    keys = [b"", b"key", "klíč".encode(), *(b"%d" % number * (number % 9) for number in range(100))]
    with Producer(bootstrap_servers=address) as producer:
        futures = [producer.send("statement-19", b"v", key=key) for key in keys]
        found = [future.result(PATIENCE_S).partition for future in futures]
    assert found == [(murmur2(key) & 0x7FFFFFFF) % 7 for key in keys]


def test_statement_21_who_names_a_partition_does_not_ask_the_partitioner(
    address: str, moldau_cluster: LocalCluster
) -> None:
    moldau_cluster.create_topic("statement-21", 3)
    asked: list[bytes | None] = []

    def last(_topic: str, key: bytes | None, _value: bytes | None, partitions: int) -> int:
        asked.append(key)
        return partitions - 1

    with Producer(bootstrap_servers=address, partitioner_class=last) as producer:
        assert producer.send("statement-21", b"v", key=b"named", partition=1).result(PATIENCE_S).partition == 1
        assert producer.send("statement-21", b"v", key=b"asked").result(PATIENCE_S).partition == 2
    assert asked == [b"asked"]


def test_statement_24_with_acks_0_nobody_waits_and_failures_are_not_heard(
    address: str, moldau_cluster: LocalCluster, moldau_topic: str
) -> None:
    moldau_cluster.create_topic("statement-24-small", 1, {"max.message.bytes": "100"})
    with Producer(bootstrap_servers=address, acks="0") as producer:
        assert producer.send("statement-24-small", bytes(500)).result(PATIENCE_S).offset == -1
        assert producer.send(moldau_topic, b"v").result(PATIENCE_S).offset == -1
    assert values_of(moldau_cluster, "statement-24-small") == []


@pytest.mark.parametrize(("acks", "waits"), [("1", False), ("all", True)])
def test_statement_24_acks_1_is_the_leader_and_all_is_every_replica_in_sync(
    three: LocalCluster, acks: str, waits: bool
) -> None:
    topic = f"statement-24-{acks}"
    three.create_topic(topic, replication_factor=3)
    with Producer(bootstrap_servers=three.bootstrap_servers, acks=acks) as producer:
        leader = producer.partitions_for(topic)[0].leader
        followers = [each for each in three.running if each != leader]
        ends = []
        for _ in range(20):
            offset = producer.send(topic, b"v").result(PATIENCE_S).offset
            ends += [_log_end_offset(three, topic, broker_id) > offset for broker_id in followers]
            assert _log_end_offset(three, topic, leader) == offset + 1
    assert all(ends) or not waits


def _log_end_offset(cluster: LocalCluster, topic: str, broker_id: int) -> int:
    def end(node: Node) -> int:
        log = node.replicas.partitions[topic, 0].log
        assert log is not None
        return log.log_end_offset

    return cluster.run_in_loop(end, broker_id)


def test_statement_25_acks_all_needs_min_insync_replicas_and_acks_1_does_not(three: LocalCluster) -> None:
    three.create_topic("statement-25", config={"min.insync.replicas": "3"}, replication_factor=3)
    settings: dict[str, object] = {"bootstrap.servers": three.bootstrap_servers, "retries": 1, "retry.backoff.ms": 10}
    three.kill_broker(2)
    try:
        with Admin(bootstrap_servers=three.bootstrap_servers) as admin:
            eventually(lambda: len(admin.describe_topics(["statement-25"])["statement-25"].partitions[0].isr) == 2)
        with Producer(settings, acks="all") as producer:
            refused = producer.send("statement-25", b"all").exception(PATIENCE_S)
            assert isinstance(refused, ApiError)
            assert refused.code is ErrorCode.NOT_ENOUGH_REPLICAS
        with Producer(settings, acks="1") as producer:
            assert producer.send("statement-25", b"one").result(PATIENCE_S).offset == 0
    finally:
        three.start_broker(2)


@pytest.mark.parametrize(("idempotent", "copies"), [(False, 2), (True, 1)])
def test_statement_26_a_lost_answer_makes_a_duplicate_unless_the_producer_is_idempotent(
    start_broker: StartBroker, meddle: Meddle, idempotent: bool, copies: int
) -> None:
    cluster = start_broker()
    cluster.create_topic("t")

    def answer_too_late(append: Append, appending: Appending) -> ProduceResponse | None:
        response = append(appending)
        time.sleep(0.8)
        return response

    settings: dict[str, object] = {"enable.idempotence": idempotent, "request.timeout.ms": 400, "linger.ms": 0}
    with Producer({"bootstrap.servers": cluster.bootstrap_servers, **settings}) as producer:
        producer.partitions_for("t")  # so that the time of the request is that of the produce alone
        meddle(answer_too_late)
        producer.send("t", b"once?").result(PATIENCE_S)
        assert producer.metrics()["record-retry-total"] >= 1
    found = values_of(cluster, "t")
    assert found == [b"once?"] * len(found)
    assert len(found) >= copies if copies > 1 else len(found) == 1


@pytest.mark.parametrize(
    ("in_flight", "idempotent", "known", "keeps_order"),
    [(5, False, True, False), (1, False, True, True), (5, True, True, True), (5, True, False, True)],
)
def test_statement_27_a_retry_changes_the_order_if_others_are_in_flight_and_nothing_keeps_it(
    start_broker: StartBroker, meddle: Meddle, in_flight: int, idempotent: bool, known: bool, keeps_order: bool
) -> None:
    cluster = start_broker()
    cluster.create_topic("t")

    def refuse_after_the_second_was_sent(_append: Append, appending: Appending) -> ProduceResponse | None:
        time.sleep(0.3)
        return broker_produce.refused(appending.request, ErrorCode.NOT_ENOUGH_REPLICAS, "on purpose")

    settings: dict[str, object] = {"enable.idempotence": idempotent, "batch.size": 1, "linger.ms": 0}
    with Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, **settings},
        max_in_flight_requests_per_connection=in_flight,
    ) as producer:
        if known:
            producer.send("t", b"before").result(PATIENCE_S)
        meddle(refuse_after_the_second_was_sent)
        futures = [producer.send("t", value) for value in (b"first", b"second")]
        for future in futures:
            future.result(PATIENCE_S)
    expected = [b"first", b"second"] if keeps_order else [b"second", b"first"]
    assert values_of(cluster, "t") == ([b"before", *expected] if known else expected)


def test_statement_28_linger_0_sends_at_once_and_more_holds_until_a_batch_is_full_or_time_is_up(
    address: str, moldau_topic: str
) -> None:
    with Producer(bootstrap_servers=address, linger_ms=0) as producer:
        assert producer.send(moldau_topic, b"at once").result(PATIENCE_S).offset == 0
    settings: dict[str, object] = {"bootstrap.servers": address, "batch.size": 1000, "delivery.timeout.ms": 120_000}
    with Producer(settings, linger_ms=60_000) as producer:
        held = producer.send(moldau_topic, bytes(500))
        with suppress(TimedOut):
            held.result(0.3)
        assert not held.done()
        producer.send(moldau_topic, bytes(600))  # does not fit, so the first batch is full
        assert held.result(PATIENCE_S).offset == 1
    with Producer(settings, linger_ms=300) as producer:
        began = time.monotonic()
        producer.send(moldau_topic, b"waits").result(PATIENCE_S)
        assert time.monotonic() - began >= 0.3


def test_statement_30_no_answer_within_the_request_timeout_is_an_error_in_the_callback(
    start_broker: StartBroker, meddle: Meddle
) -> None:
    cluster = start_broker()
    cluster.create_topic("t")

    def say_nothing(append: Append, appending: Appending) -> ProduceResponse | None:
        time.sleep(0.8)
        return append(appending)

    errors: list[Exception | None] = []
    settings: dict[str, object] = {"request.timeout.ms": 300, "retries": 0, "enable.idempotence": False}
    with Producer({"bootstrap.servers": cluster.bootstrap_servers, **settings}) as producer:
        producer.partitions_for("t")
        meddle(say_nothing)
        future = producer.send("t", b"v", on_delivery=lambda _metadata, error: errors.append(error))
        failure = future.exception(PATIENCE_S)
    assert isinstance(failure, TimedOut)
    assert "request.timeout.ms" in str(failure)
    assert errors == [failure]


@pytest.mark.parametrize("codec", ["lz4", "snappy", "gzip"])
def test_statement_34_a_compressed_batch_is_stored_as_it_was_sent(
    start_broker: StartBroker, meddle: Meddle, codec: str
) -> None:
    cluster = start_broker()
    cluster.create_topic("t")
    sent: list[bytes] = []

    def look(append: Append, appending: Appending) -> ProduceResponse | None:
        sent.append(bytes(appending.request.topic_data[0].partition_data[0].records or b""))
        return append(appending)

    meddle(look)
    with Producer(bootstrap_servers=cluster.bootstrap_servers, compression_type=codec, linger_ms=200) as producer:
        for number in range(50):
            producer.send("t", b"river %d " % number * 20)
    (batch,) = stored_batches(cluster, "t", 0)
    assert bytes(batch.data)[CRC_AT:] == sent[0][CRC_AT:]
    assert values_of(cluster, "t") == [b"river %d " % number * 20 for number in range(50)]
