"""What the books say of consumer groups, statement by statement, with a real client.

`book_1_37` is statement 37 of the first book's list. What the protocol itself shows is in
`tests/spec/test_group_statements.py`; 31 and 48 to 52 are about consumers, not about the broker.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from moldau.base.error_codes import ErrorCode
from moldau.base.hashing import coordinator_partition
from moldau.protocol.stored import leading_number
from moldau.records.reader import read_batch
from moldau.records.walk import batches
from moldau.testing.local_cluster import LocalCluster
from tests.broker.group_requests_to_broker import member, wait_for_coordinator
from tests.compat.group_members import SESSION_MS, ConfluentConsumer, consuming, eventually
from tests.compat.test_groups_python_clients import MESSAGES, PARTITIONS, all_owned, all_received, produce, shown

pytestmark = pytest.mark.slow

PATIENCE_S = 30.0
EMPTY_GROUP_CHECK_MS = 300
numbers = count(1)


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Offsets topics as Kafka's: 50 partitions."""
    settings = {"offsets.retention.check.interval.ms": str(EMPTY_GROUP_CHECK_MS), "auto.create.topics.enable": "false"}
    with LocalCluster(settings) as cluster:
        wait_for_coordinator(cluster)
        yield cluster


@pytest.fixture
def topic(cluster: LocalCluster) -> str:
    name = f"statement-{next(numbers)}"
    cluster.create_topic(name, PARTITIONS)
    produce(cluster.bootstrap_servers, name)
    return name


def consumer_of(cluster: LocalCluster, group_id: str, **more: object) -> Consumer:
    settings: dict[str, object] = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "group.id": group_id,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "session.timeout.ms": SESSION_MS,
    }
    return Consumer({**settings, **{key.replace("_", "."): value for key, value in more.items()}})


def next_messages(consumer: Consumer, wanted: int) -> list[Message]:
    found: list[Message] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < wanted and time.monotonic() < deadline:
        found += [one for one in consumer.consume(wanted - len(found), 0.1) if one.error() is None]
    assert len(found) == wanted
    return found


def test_book_1_37_a_group_handles_each_record_once_and_every_group_gets_all(cluster: LocalCluster, topic: str) -> None:
    address = cluster.bootstrap_servers
    pair = [ConfluentConsumer(address, f"one-{topic}", [topic], "range") for _ in range(2)]
    alone = ConfluentConsumer(address, f"other-{topic}", [topic], "range")
    with consuming(*pair, alone):
        eventually(all_owned(topic, pair), shown(pair))
        eventually(all_received(topic, [alone]), shown([alone]))
        produce(address, topic)

        def fresh() -> list[tuple[str, int, int]]:
            """What came while nothing changed in the group."""
            return [found for one in pair for found in one.received if found[2] >= MESSAGES // PARTITIONS]

        eventually(lambda: len(fresh()) >= MESSAGES, shown(pair))
        assert len(fresh()) == len(set(fresh())) == MESSAGES


def test_book_1_38_and_39_partitions_are_shared_evenly(cluster: LocalCluster, topic: str) -> None:
    members = [ConfluentConsumer(cluster.bootstrap_servers, f"even-{topic}", [topic], "range") for _ in range(3)]
    with consuming(*members[:2]):
        eventually(all_owned(topic, members[:2]), shown(members))
        with consuming(members[2]):
            eventually(all_owned(topic, members), shown(members))


def test_book_1_40_partitions_of_the_dead_move_in_time_and_of_the_leaving_at_once(
    cluster: LocalCluster, topic: str
) -> None:
    group_id = f"dead-{topic}"
    with member(cluster, group_id) as silent:
        silent.join(topic, session_timeout_ms=SESSION_MS, rebalance_timeout_ms=SESSION_MS)
        silent.sync({silent.member_id: b"\0\0\0\0\0\0\0\0\0\0"})
        started = time.monotonic()
        survivor = ConfluentConsumer(cluster.bootstrap_servers, group_id, [topic], "range")
        leaving = ConfluentConsumer(cluster.bootstrap_servers, group_id, [topic], "range")
        with consuming(survivor):
            eventually(all_owned(topic, [survivor]), shown([survivor]))
            assert time.monotonic() - started < SESSION_MS / 1000 + 8
            with consuming(leaving):
                eventually(all_owned(topic, [survivor, leaving]), shown([survivor, leaving]))
            left = time.monotonic()
            eventually(all_owned(topic, [survivor]), shown([survivor]))
            assert time.monotonic() - left < SESSION_MS / 1000


def test_book_1_41_who_processes_for_too_long_is_out(cluster: LocalCluster, topic: str) -> None:
    slow = consumer_of(cluster, f"slow-{topic}", max_poll_interval_ms=SESSION_MS)
    slow.subscribe([topic])
    (message,) = next_messages(slow, 1)
    time.sleep(SESSION_MS / 1000 + 2)
    with pytest.raises(KafkaException) as refused:
        slow.commit(message, asynchronous=False)
    assert refused.value.args[0].code() in (
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.ILLEGAL_GENERATION,
        KafkaError._STATE,
        KafkaError._MAX_POLL_EXCEEDED,
        KafkaError.GROUP_ID_NOT_FOUND,  # without members and offsets it may be gone already
    )
    slow.close()


def test_book_1_42_an_old_generation_commits_nothing(cluster: LocalCluster, topic: str) -> None:
    with member(cluster, f"generations-{topic}") as one:
        for generation in (1, 2, 3):
            assert one.join(topic).generation_id == generation
            one.sync({one.member_id: b""})
        assert one.commit(topic, 5) is ErrorCode.NONE
        one.generation_id = 2
        assert one.commit(topic, 6) is ErrorCode.ILLEGAL_GENERATION
        assert one.committed(topic).committed_offset == 5


def test_book_1_43_new_topics_that_match_a_pattern_are_consumed(cluster: LocalCluster) -> None:
    prefix = f"pattern-{next(numbers)}"
    cluster.create_topic(f"{prefix}-a")
    consumer = consumer_of(cluster, prefix, topic_metadata_refresh_interval_ms=300)
    consumer.subscribe([f"^{prefix}-.*"])
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    producer.produce(f"{prefix}-a", "first")
    producer.flush(PATIENCE_S)
    (message,) = next_messages(consumer, 1)
    assert message.topic() == f"{prefix}-a"
    consumer.commit(message, asynchronous=False)
    cluster.create_topic(f"{prefix}-b")
    producer.produce(f"{prefix}-b", "second")
    producer.flush(PATIENCE_S)
    assert next_messages(consumer, 1)[0].topic() == f"{prefix}-b"
    consumer.close()


def test_book_1_44_and_book_2_33_where_a_group_is(cluster: LocalCluster, topic: str) -> None:
    assert coordinator_partition("test-group", 50) == 12
    consumer = consumer_of(cluster, "test-group")
    consumer.commit(offsets=[TopicPartition(topic, 0, 5)], asynchronous=False)
    consumer.close()
    partitions = cluster.run_in_loop(lambda node: len(node.metadata.topics["__consumer_offsets"]))
    policy = cluster.run_in_loop(lambda node: node.configs.topic("__consumer_offsets")["cleanup.policy"])
    holding = cluster.run_in_loop(
        lambda node: [
            index for index, shard in node.groups.runtime.active.items() if "test-group" in shard.offsets.committed
        ]
    )
    assert (partitions, policy, holding) == (50, ("compact",), [12])


@pytest.mark.parametrize(("reset", "first"), [("earliest", 0), ("latest", 10)])
def test_book_1_46_reset_is_for_groups_without_offsets(
    cluster: LocalCluster, topic: str, reset: str, first: int
) -> None:
    fresh = consumer_of(cluster, f"fresh-{reset}-{topic}", auto_offset_reset=reset)
    fresh.assign([TopicPartition(topic, 0)])
    deadline = time.monotonic() + 2
    found = [one.offset() for one in iter(lambda: fresh.poll(0.2), None) if one is not None]
    while not found and time.monotonic() < deadline:
        found = [one.offset() for one in iter(lambda: fresh.poll(0.2), None) if one is not None]
    assert found == list(range(first, 10))
    fresh.close()
    known = consumer_of(cluster, f"known-{reset}-{topic}", auto_offset_reset=reset)
    known.commit(offsets=[TopicPartition(topic, 0, 4)], asynchronous=False)
    known.assign([TopicPartition(topic, 0)])
    assert next_messages(known, 1)[0].offset() == 4
    known.close()


def test_book_1_47_a_commit_is_the_next_offset(cluster: LocalCluster, topic: str) -> None:
    group_id = f"resumes-{topic}"

    def read(wanted: int, *, commits: bool) -> list[int]:
        consumer = consumer_of(cluster, group_id)
        consumer.assign([TopicPartition(topic, 0)])
        found = next_messages(consumer, wanted)
        if commits:
            consumer.commit(found[-1], asynchronous=False)
        consumer.close()
        return [int(one.offset() or 0) for one in found]

    assert read(3, commits=True) == [0, 1, 2]
    consumer = consumer_of(cluster, group_id)
    assert consumer.committed([TopicPartition(topic, 0)])[0].offset == 3
    consumer.close()
    assert read(2, commits=False) == [3, 4]
    assert read(2, commits=True) == [3, 4]


def test_corrections_001_9_an_end_that_a_client_of_old_sets(cluster: LocalCluster, topic: str) -> None:
    with member(cluster, f"old-{topic}") as old:
        assert old.commit(topic, 7, 2, retention_time_ms=1_000) is ErrorCode.NONE
        assert old.committed(topic).committed_offset == 7
        eventually(lambda: old.committed(topic).committed_offset == -1)
        assert old.commit(topic, 7, 2, metadata="x" * 4097) is ErrorCode.OFFSET_METADATA_TOO_LARGE


def test_corrections_004_8_a_consumer_that_assigns_itself_has_no_group_in_the_log(
    cluster: LocalCluster, topic: str
) -> None:
    group_id = f"alone-{topic}"
    consumer = consumer_of(cluster, group_id)
    consumer.assign([TopicPartition(topic, 0)])
    consumer.commit(next_messages(consumer, 1)[0], asynchronous=False)
    consumer.close()
    partition = coordinator_partition(group_id, 50)
    log = next((cluster.data / f"__consumer_offsets-{partition}").glob("*.log")).read_bytes()
    keys = [record.key or b"" for batch in batches(log) for record in read_batch(batch)]
    kinds = {leading_number(key) for key in keys if group_id.encode() in key}
    assert kinds == {1}
