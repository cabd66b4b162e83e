"""What the books' numbered statements say of consumers, with `moldau.Consumer`: book 1, 37 to 49; book 2, 31.

What other tests show with our clients already is not repeated (`groups`: tests/clients/test_consumer_groups.py,
`reading`: tests/clients/test_consumer_reading.py, `programs`: tests/examples/test_consumer_programs.py):

    statement   is shown by
    41          groups      test_who_polls_too_late_is_out_and_loses_its_partitions
    43          groups      test_a_pattern_finds_topics_that_come_later; here partitions that are added
    45          here what each member is told; the protocol itself: tests/spec/test_group_statements.py
    47          programs    test_a_crash_before_the_commit_repeats_records_and_loses_none; here offsets
    48          programs    test_the_last_subscription_counts_and_a_pattern_matches_topics
                reading     test_a_second_thread_is_refused, test_wakeup_ends_the_poll_that_waits_or_the_next_one
    book 2, 31  tests/unit/clients/consumer: test_an_assignor_gives_what_kafkas_gives, by stored results of Kafka's own

46 is in `test_reset_statements_own_clients.py`; 50 and 51 are in `test_program_statements_own_clients.py`. 52 is not
here: consumers that keep their groups in ZooKeeper are a module of their own, and come later.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from moldau import Admin, Consumer, Producer, TopicPartition
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.hashing import coordinator_partition
from moldau.clients.admin import ConfigResource
from moldau.clients.consumer.assignors import ASSIGNORS, GroupMember
from moldau.clients.errors import IllegalState
from moldau.clients.records import OffsetAndMetadata
from moldau.testing.local_cluster import LocalCluster
from tests.clients.records_to_consume import new_group, poll_until, produce, take

SESSION_MS = 3_000
NO_RACKS: frozenset[str] = frozenset()

Make = Callable[..., Consumer]


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    settings = {"group.min.session.timeout.ms": "100", "offsets.topic.num.partitions": "1"}
    with LocalCluster({**settings, "transaction.state.log.num.partitions": "1"}) as cluster:
        yield cluster


@pytest.fixture
def topic(cluster: LocalCluster, request: pytest.FixtureRequest) -> str:
    name = str(request.node.name).replace("[", "-").replace("]", "")
    cluster.create_topic(name, 4)
    return name


@pytest.fixture
def make(cluster: LocalCluster) -> Iterator[Make]:
    """Members of groups with short intervals, closed after the test."""
    with ExitStack() as stack:

        def make(group: str, *topics: str, **keywords: object) -> Consumer:
            settings = {
                "bootstrap.servers": cluster.bootstrap_servers,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": 50,
                "session.timeout.ms": 10_000,
            }
            consumer = stack.enter_context(Consumer(settings, **keywords))
            if topics:
                consumer.subscribe(topics)
            return consumer

        yield make


def partitions(*consumers: Consumer) -> list[set[int]]:
    return [{each.partition for each in consumer.assignment()} for consumer in consumers]


def sizes(*consumers: Consumer) -> list[int]:
    return [len(each) for each in partitions(*consumers)]


def test_statement_37_a_group_handles_each_record_once_and_every_group_gets_all(
    cluster: LocalCluster, make: Make, topic: str
) -> None:
    group = new_group()
    pair = [make(group, topic), make(group, topic)]
    alone = make(new_group(), topic)
    poll_until([*pair, alone], lambda: sizes(*pair, alone) == [2, 2, 4])
    for number in range(4):
        produce(cluster, topic, [b"v"] * 25, partition=number)
    records = {consumer: take(consumer, 50) for consumer in pair}
    places = [(each.partition, each.offset) for its in records.values() for each in its]
    assert sorted(places) == [(number, offset) for number in range(4) for offset in range(25)]
    assert len(take(alone, 100)) == 100


def test_statements_38_and_45_members_share_evenly_and_each_is_told_its_own_part(
    cluster: LocalCluster, make: Make, topic: str
) -> None:
    group = new_group()
    members = [make(group, topic) for _ in range(2)]
    poll_until(members, lambda: sizes(*members) == [2, 2])
    members += [make(group, topic) for _ in range(2)]
    poll_until(members, lambda: sizes(*members) == [1, 1, 1, 1])
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        described = admin.describe_consumer_groups([group])[group]
    told = {each.member_id: set(each.assignment) for each in described.members}
    assert told == {each.group_metadata().member_id: each.assignment() for each in members}
    assert set().union(*told.values()) == {TopicPartition(topic, number) for number in range(4)}


@pytest.mark.parametrize("name", ASSIGNORS)
def test_statement_38_twenty_members_have_five_of_a_hundred_partitions_each(name: str) -> None:
    members = {f"member-{number}": GroupMember(["t"]) for number in range(20)}
    assignment = ASSIGNORS[name]().assign({"t": [NO_RACKS] * 100}, members)
    assert [len(its) for its in assignment.values()] == [5] * 20


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_statement_39_and_book_2_31_a_third_member_of_six_partitions_leaves_two_for_each(
    cluster: LocalCluster, make: Make, topic: str, strategy: str
) -> None:
    six = f"{topic}-six"
    cluster.create_topic(six, 6)
    group = new_group()
    members = [make(group, six, partition_assignment_strategy=[strategy]) for _ in range(2)]
    poll_until(members, lambda: sizes(*members) == [3, 3])
    before = partitions(*members)
    members.append(make(group, six, partition_assignment_strategy=[strategy]))
    poll_until(members, lambda: sizes(*members) == [2, 2, 2])
    after = partitions(*members)
    assert set().union(*after) == set(range(6))
    if "sticky" in strategy:
        assert all(now < then for now, then in zip(after, before, strict=False))  # only what has to, moves


@pytest.mark.slow
def test_statement_40_partitions_of_the_dead_move_after_the_session_and_of_the_leaving_at_once(
    make: Make, topic: str
) -> None:
    group = new_group()
    stays, leaves, dies = members = [make(group, topic, session_timeout_ms=SESSION_MS) for _ in range(3)]
    poll_until(members, lambda: sorted(sizes(*members)) == [1, 1, 2])
    began = time.monotonic()
    leaves.close()
    poll_until([stays, dies], lambda: sizes(stays, dies) == [2, 2])
    assert time.monotonic() - began < SESSION_MS / 1000
    began = time.monotonic()
    dies._background.loop.call_soon_threadsafe(time.sleep, 1 + SESSION_MS / 1000)  # as a process that is stopped
    poll_until([stays], lambda: sizes(stays) == [4])
    assert time.monotonic() - began >= 0.8 * SESSION_MS / 1000


def test_statement_42_generations_grow_by_one_and_an_old_one_commits_nothing(
    cluster: LocalCluster, make: Make, topic: str
) -> None:
    group = new_group()
    first = make(group, topic)
    poll_until([first], lambda: sizes(first) == [4])
    old = first.group_metadata()
    second = make(group, topic)
    poll_until([first, second], lambda: sizes(first, second) == [2, 2])
    now = first.group_metadata()
    assert (now.member_id, now.generation_id) == (old.member_id, old.generation_id + 1)
    partition = TopicPartition(topic, 0)
    with Producer(bootstrap_servers=cluster.bootstrap_servers, transactional_id=topic) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send_offsets_to_transaction({partition: OffsetAndMetadata(5)}, now)
        producer.commit_transaction()
        producer.begin_transaction()
        with pytest.raises(ApiError) as refused:
            producer.send_offsets_to_transaction({partition: OffsetAndMetadata(6)}, old)
        assert refused.value.code is ErrorCode.ILLEGAL_GENERATION
        producer.abort_transaction()
    committed = first.committed([partition])[partition]
    assert committed is not None
    assert committed.offset == 5


def test_statement_43_partitions_that_are_added_are_divided_too(cluster: LocalCluster, make: Make, topic: str) -> None:
    group = new_group()
    pair = [make(group, topic, metadata_max_age_ms=200) for _ in range(2)]
    poll_until(pair, lambda: sizes(*pair) == [2, 2])
    with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
        admin.create_partitions({topic: 8})
    poll_until(pair, lambda: sizes(*pair) == [4, 4])


@pytest.mark.slow
def test_statement_44_a_group_is_coordinated_by_the_leader_of_its_partition_of_50() -> None:
    with (
        LocalCluster({"offsets.topic.replication.factor": "1"}, brokers=3) as cluster,
        Admin(bootstrap_servers=cluster.bootstrap_servers) as admin,
    ):
        cluster.create_topic("t")
        groups = ["test-group", "console-consumer-90277", "console-consumer-49366"]
        for group in groups:
            with Consumer(bootstrap_servers=cluster.bootstrap_servers, group_id=group) as consumer:
                consumer.assign([("t", 0)])
                consumer.commit({TopicPartition("t", 0): 0})
        offsets = admin.describe_topics(["__consumer_offsets"])["__consumer_offsets"]
        places = [coordinator_partition(group, 50) for group in groups]
        leaders = [offsets.partitions[place].leader for place in places]
        assert (places, len(offsets.partitions)) == ([12, 26, 19], 50)
        described = admin.describe_consumer_groups(groups)
        assert [described[group].coordinator.id for group in groups] == leaders
        resource = ConfigResource.topic("__consumer_offsets")
        assert admin.describe_configs([resource])[resource]["cleanup.policy"].value == "compact"


def test_statement_47_a_commit_is_the_next_offset_and_what_was_not_committed_comes_again(
    cluster: LocalCluster, make: Make, topic: str
) -> None:
    produce(cluster, topic, [b"v"] * 10)
    group, partition = new_group(), TopicPartition(topic, 0)

    def read(count: int, *, commits: bool) -> list[int]:
        consumer = make(group, topic, max_poll_records=count)
        offsets = [record.offset for record in take(consumer, count)]
        if commits:
            consumer.commit()
            committed = consumer.committed([partition])[partition]
            assert committed is not None
            assert committed.offset == offsets[-1] + 1
        consumer.close()
        return offsets

    assert read(3, commits=True) == [0, 1, 2]
    assert read(2, commits=False) == [3, 4]
    assert read(2, commits=True) == [3, 4]
    assert read(5, commits=False) == [5, 6, 7, 8, 9]


def test_statement_48_assigning_and_subscribing_exclude_each_other(make: Make, topic: str) -> None:
    consumer = make(new_group(), "replaced")
    consumer.subscribe([topic])
    assert consumer.subscription() == {topic}
    assert consumer.assignment() == set()  # until it polls
    with pytest.raises(IllegalState, match="mutually exclusive"):
        consumer.assign([(topic, 0)])
    poll_until([consumer], lambda: sizes(consumer) == [4])
    consumer.unsubscribe()
    consumer.assign([(topic, 0)])
    consumer.assign([(topic, 1)])
    assert partitions(consumer) == [{1}]
    with pytest.raises(IllegalState, match="mutually exclusive"):
        consumer.subscribe([topic])


def test_statement_49_a_poll_gives_no_more_than_max_poll_records_and_that_is_500(
    cluster: LocalCluster, make: Make, topic: str
) -> None:
    produce(cluster, topic, [b"v"] * 1200)
    one = make(new_group(), max_poll_records=1)
    one.assign([(topic, 0)])
    assert [len(take(one, 1)) for _ in range(3)] == [1, 1, 1]
    default = make(new_group())
    default.assign([(topic, 0)])
    assert [len(take(default, 1)) for _ in range(3)] == [500, 500, 200]
