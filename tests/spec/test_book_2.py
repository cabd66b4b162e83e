"""The numbered statements of the reference book's second part that one broker shows to clients and tools of others.

Statements 1 to 12, 15, 37, 46 and 47; each test has the number of its statement. What is not here:

    statement   what is not here                                            comes with
    4           keys 8 to 16 and 24 to 28: groups and transactions          coordinators (issue 6)
    4           keys 29 to 31: ACLs                                         security
    8           the same metadata from every broker                         several brokers (issue 7)
    10, 11      pools of threads: there is one event loop, so that the      never (docs/configuration.md)
                settings are accepted and have no effect
    15          replicas on several brokers                                 several brokers (issue 7)
    37, 46, 47  the lines that our own commands print                       commands (issue 10)
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from struct import pack

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ConfigSource, NewTopic
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.protocol.broker_version_data import BROKER_API_VERSIONS

from moldau.testing.local_cluster import LocalCluster
from tests.broker_process import free_port
from tests.compat.kafka_tools import KafkaTools
from tests.spec.conftest import StartBroker
from tests.spec.foreign_clients import (
    PATIENCE_S,
    admin,
    ask,
    config_of,
    create_topic,
    eventually,
    kafka_python_admin,
    plain_batch,
)
from tests.spec.raw_socket import (
    API_VERSIONS,
    FETCH,
    METADATA,
    PRODUCE,
    RawConnection,
    fetch_request,
    produce_request,
    read_fetched,
    read_produced,
    string,
)

GROUPS_AND_TRANSACTIONS = {*range(8, 17), *range(24, 29)}
ACLS = {29, 30, 31}


@pytest.mark.parametrize("correlation_id", [0, 1, -7, 2**31 - 1])
def test_statement_01_a_response_is_a_size_the_same_correlation_id_and_a_body(
    address: str, correlation_id: int
) -> None:
    with RawConnection(address) as connection:
        connection.send(API_VERSIONS, 0, correlation_id)
        answered, body = connection.receive()
    assert answered == correlation_id
    assert body.int16() == 0
    count = body.int32()
    assert body.left == 6 * count  # key, lowest and highest version of each API, and nothing more


def test_statement_02_pipelined_requests_are_answered_in_their_order(address: str, moldau_topic: str) -> None:
    """The first waits for 300 ms; the others could be answered at once."""
    with RawConnection(address) as connection:
        connection.send(FETCH, 6, 100, fetch_request(moldau_topic, max_wait_ms=300, min_bytes=1_000_000))
        for number in range(1, 50):
            connection.send(API_VERSIONS, 0, 100 + number)
            connection.send(PRODUCE, 5, 200 + number, produce_request(moldau_topic, plain_batch(b"x"), acks=-1))
        expected = [100, *(base + number for number in range(1, 50) for base in (100, 200))]
        assert [connection.receive()[0] for _ in expected] == expected


def test_statement_03_a_request_that_is_too_large_closes_the_connection(start_broker: StartBroker) -> None:
    address = start_broker(**{"socket.request.max.bytes": "50000"}).bootstrap_servers
    with RawConnection(address) as connection:
        connection.ask(PRODUCE, 5, produce_request("unknown", plain_batch(bytes(49_000))))
        connection.send_bytes(pack(">i", 50_001))
        assert connection.is_closed()


def test_statement_04_api_versions_lists_what_kafka_1_0_had(address: str) -> None:
    with RawConnection(address) as connection:
        answer = connection.ask(API_VERSIONS, 0)
    assert answer.int16() == 0
    served = {key: (low, high) for key, low, high in (answer.fields(">hhh") for _ in range(answer.int32()))}
    of_kafka = BROKER_API_VERSIONS[1, 0]
    assert (of_kafka[0], of_kafka[1], set(of_kafka)) == ((0, 5), (0, 6), set(range(38)))
    for key in of_kafka.keys() - GROUPS_AND_TRANSACTIONS - ACLS:
        assert served[key][0] <= of_kafka[key][0]
        assert served[key][1] >= of_kafka[key][1]


def test_statement_05_a_produce_answer_tells_offset_append_time_log_start_and_throttling(
    address: str, moldau_topic: str
) -> None:
    with RawConnection(address) as connection:
        for base_offset in (0, 2, 4):
            answer = connection.ask(PRODUCE, 5, produce_request(moldau_topic, plain_batch(b"x", b"y")))
            assert read_produced(answer, moldau_topic) == (0, 0, base_offset, -1, 0, 0)


def test_statement_05_with_log_append_time_the_answer_has_the_brokers_time(
    moldau_cluster: LocalCluster, address: str
) -> None:
    moldau_cluster.create_topic("statement-05", config={"message.timestamp.type": "LogAppendTime"})
    before_ms = int(time.time() * 1000)
    with RawConnection(address) as connection:
        answer = connection.ask(PRODUCE, 5, produce_request("statement-05", plain_batch(b"x")))
    assert before_ms <= read_produced(answer, "statement-05").log_append_time <= int(time.time() * 1000)


@pytest.mark.parametrize("limits", [{"max_bytes": 10}, {"partition_max_bytes": 10}])
def test_statement_06_the_first_message_comes_even_if_it_is_larger_than_the_limit(
    address: str, moldau_topic: str, limits: dict[str, int]
) -> None:
    large = plain_batch(bytes(5_000))
    with RawConnection(address) as connection:
        for _ in range(2):
            connection.ask(PRODUCE, 5, produce_request(moldau_topic, large))
        fetched = read_fetched(connection.ask(FETCH, 6, fetch_request(moldau_topic, **limits)), moldau_topic)
    assert (fetched.error_code, fetched.high_watermark, len(fetched.records)) == (0, 2, len(large))


def test_statement_07_a_fetch_waits_for_min_bytes_or_for_the_longest_time(address: str, moldau_topic: str) -> None:
    data = plain_batch(bytes(600))

    def fetch(max_wait_ms: int) -> bytes:
        return fetch_request(moldau_topic, max_wait_ms=max_wait_ms, min_bytes=1_000)

    with RawConnection(address) as reader, RawConnection(address) as writer:
        writer.ask(PRODUCE, 5, produce_request(moldau_topic, data))
        began = time.monotonic()
        few = read_fetched(reader.ask(FETCH, 6, fetch(300)), moldau_topic)
        assert 0.3 <= time.monotonic() - began < 5
        reader.send(FETCH, 6, 2, fetch(60_000))
        time.sleep(0.05)
        writer.ask(PRODUCE, 5, produce_request(moldau_topic, data))
        enough = read_fetched(reader.receive()[1], moldau_topic)
        assert time.monotonic() - began < 10
    assert (len(few.records), len(enough.records)) == (len(data), 2 * len(data))


def test_statement_08_metadata_names_brokers_racks_cluster_controller_leaders_replicas_and_isr(
    start_broker: StartBroker,
) -> None:
    address = start_broker(**{"broker.rack": "rack-a"}).bootstrap_servers
    create_topic(address, "t", 3)
    seen = admin(address).list_topics("t", timeout=10)
    partitions = seen.topics["t"].partitions.values()
    assert [(one.leader, one.replicas, one.isrs) for one in partitions] == [(0, [0], [0])] * 3
    assert (seen.controller_id, list(seen.brokers)) == (0, [0])
    with kafka_python_admin(address) as client:
        cluster = client.describe_cluster()
    (broker,) = cluster["brokers"]
    assert (broker["host"], broker["port"], broker["rack"]) == (*_host_and_port(address), "rack-a")
    assert (cluster["cluster_id"], cluster["controller_id"]) == (seen.cluster_id, 0)
    assert re.fullmatch(r"[\w-]{22}", seen.cluster_id)


def _host_and_port(address: str) -> tuple[str, int]:
    host, port = address.split(":")
    return host, int(port)


@pytest.mark.parametrize("allowed", [False, True])
def test_statement_09_asking_for_metadata_creates_a_topic_only_if_that_is_allowed(address: str, allowed: bool) -> None:
    topic = f"statement-09-{allowed}"
    with RawConnection(address) as connection:
        connection.ask(METADATA, 5, pack(">i", 1) + string(topic) + pack(">?", allowed))
    if allowed:
        eventually(lambda: topic in admin(address).list_topics(timeout=10).topics)
    else:
        assert topic not in admin(address).list_topics(timeout=10).topics


def test_statement_10_the_settings_of_kafkas_pools_have_their_defaults(address: str) -> None:
    config = config_of(address, ConfigResource.Type.BROKER, "0")
    names = ("num.network.threads", "num.io.threads", "queued.max.requests")
    assert [config[name].value for name in names] == ["3", "8", "500"]


def test_statement_11_two_listeners_both_serve_and_each_names_itself(start_broker: StartBroker) -> None:
    ports = free_port(), free_port()
    start_broker(
        **{
            "listeners": f"PLAINTEXT://127.0.0.1:{ports[0]},SECOND://127.0.0.1:{ports[1]}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SECOND:PLAINTEXT",
        }
    )
    for port in ports:
        assert admin(f"127.0.0.1:{port}").list_topics(timeout=10).brokers[0].port == port


def test_statement_12_when_the_queue_is_full_requests_wait_and_none_is_lost(start_broker: StartBroker) -> None:
    address = start_broker(**{"queued.max.requests": "1"}).bootstrap_servers
    create_topic(address, "t")
    request, connections, requests = produce_request("t", plain_batch(b"x")), 8, 50
    offsets: list[int] = []
    with ExitStack() as stack:
        opened = [stack.enter_context(RawConnection(address)) for _ in range(connections)]
        for number in range(requests):
            for connection in opened:
                connection.send(PRODUCE, 5, number, request)
        for connection in opened:
            for number in range(requests):
                answered, answer = connection.receive()
                assert answered == number
                offsets.append(read_produced(answer, "t").base_offset)
    assert sorted(offsets) == list(range(connections * requests))


def test_statement_15_a_new_topic_is_led_by_its_first_replica_and_all_replicas_are_in_sync(address: str) -> None:
    ask(address, lambda client: client.create_topics([NewTopic("statement-15", 3, replica_assignment=[[0]] * 3)]))
    with kafka_python_admin(address) as client:
        (topic,) = client.describe_topics(["statement-15"])
    for partition in topic["partitions"]:
        assert partition["leader_id"] == partition["replica_nodes"][0]
        assert partition["isr_nodes"] == partition["replica_nodes"]
        assert (partition["error_code"], partition["leader_epoch"], partition["offline_replicas"]) == (0, 0, [])


def test_statement_37_settings_of_a_topic_come_and_go_without_a_restart(address: str, moldau_topic: str) -> None:
    def alter(*changes: tuple[str, str | None, AlterConfigOpType]) -> None:
        entries = [ConfigEntry(name, value, incremental_operation=operation) for name, value, operation in changes]
        resource = ConfigResource(ConfigResource.Type.TOPIC, moldau_topic, incremental_configs=entries)
        ask(address, lambda client: client.incremental_alter_configs([resource]))

    def overrides() -> dict[str, str]:
        entries = config_of(address, ConfigResource.Type.TOPIC, moldau_topic).values()
        return {entry.name: entry.value for entry in entries if entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value}

    set_, delete = AlterConfigOpType.SET, AlterConfigOpType.DELETE
    alter(("preallocate", "true", set_), ("max.message.bytes", "1000", set_))
    assert overrides() == {"preallocate": "true", "max.message.bytes": "1000"}
    alter(("preallocate", None, delete))
    assert overrides() == {"max.message.bytes": "1000"}
    with RawConnection(address) as connection:
        answer = connection.ask(PRODUCE, 5, produce_request(moldau_topic, plain_batch(bytes(2_000))))
    assert read_produced(answer, moldau_topic).error_code == KafkaError.MSG_SIZE_TOO_LARGE


@pytest.mark.java
@pytest.mark.slow
def test_statement_46_kafkas_dump_has_a_row_for_each_batch_and_in_depth_for_each_message(
    kafka_tools: KafkaTools, moldau_cluster: LocalCluster, moldau_topic: str
) -> None:
    settings = {"compression_type": "lz4", "linger_ms": 200}
    with closing(KafkaProducer(bootstrap_servers=moldau_cluster.bootstrap_servers, **settings)) as producer:
        for values in (["one"], ["two", "three"], ["four"]):
            for value in values:
                producer.send(moldau_topic, value.encode() * 100, partition=0)
            producer.flush()
    (log,) = (moldau_cluster.data / f"{moldau_topic}-0").glob("*.log")
    rows = kafka_tools.run("kafka-dump-log", "--files", str(log))
    deep = kafka_tools.run("kafka-dump-log", "--files", str(log), "--deep-iteration")
    assert re.findall(r"^baseOffset: .* count: (\d+) .* compresscodec: lz4", rows, re.MULTILINE) == ["1", "2", "1"]
    assert len(re.findall(r"^\| offset: ", rows, re.MULTILINE)) == 0
    assert len(re.findall(r"^\| offset: ", deep, re.MULTILINE)) == 4


@pytest.mark.slow
def test_statement_47_latest_minus_earliest_sums_to_what_was_sent(address: str) -> None:
    create_topic(address, "statement-47", 5)
    _produce_evenly(Producer({"bootstrap.servers": address, "linger.ms": 20}), "statement-47", 5, 500_000)
    partitions = [TopicPartition("statement-47", number) for number in range(5)]
    with closing(KafkaConsumer(bootstrap_servers=address)) as consumer:
        latest, earliest = consumer.end_offsets(partitions), consumer.beginning_offsets(partitions)
    assert sum(latest[one] - earliest[one] for one in partitions) == 500_000


def _produce_evenly(producer: Producer, topic: str, partitions: int, count: int) -> None:
    send: Callable[..., None] = producer.produce
    for number in range(count):
        try:
            send(topic, b"a message", partition=number % partitions)
        except BufferError:
            producer.poll(0.5)
            send(topic, b"a message", partition=number % partitions)
    assert producer.flush(PATIENCE_S) == 0
