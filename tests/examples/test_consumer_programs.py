"""The consumers of `examples/` read, print and commit what they say."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

from tests.examples.program_output import committed, fresh_cluster, run_program, write

Output = pytest.CaptureFixture[str]


def test_the_shortest_consumer_prints_offsets_keys_and_values(capsys: Output) -> None:
    with fresh_cluster(foo=1, bar=1) as cluster:
        write(cluster, "foo", 3)
        lines = run_program("consumer_demo", cluster, capsys, 3)
        assert committed(cluster, "test", "foo") == [3]
    assert lines == [f"offset = {number}, key = {number}, value = {number}" for number in range(3)]


def test_the_six_steps_of_a_consumer(capsys: Output) -> None:
    with fresh_cluster(my_topic=1) as cluster:
        write(cluster, "my-topic", 2)
        lines = run_program("consumer_basic", cluster, capsys, 2)
        assert committed(cluster, "test-group", "my-topic") == [2]
    assert lines == ["offset = 0, key = 0, value = 0", "offset = 1, key = 1, value = 1"]


@pytest.mark.slow
def test_the_last_subscription_counts_and_a_pattern_matches_topics(capsys: Output) -> None:
    with fresh_cluster(kafka_a=2, kafka_b=1, other=1) as cluster:
        lines = run_program("consumer_subscribe", cluster, capsys)
    assert lines == ["topics: kafka-b-0", "assigned: kafka-a-0, kafka-a-1, kafka-b-0", "partitions: kafka-a-0"]


@pytest.mark.slow
def test_a_flag_and_a_wakeup_end_a_loop(capsys: Output) -> None:
    with fresh_cluster(my_topic=1) as cluster:
        write(cluster, "my-topic", 2)
        lines = run_program("consumer_poll_loops", cluster, capsys, 1)
    read = [f"topic = my-topic, partition=0, offset={number}" for number in range(2)]
    assert lines == [*read, *read, "woken"]


def test_a_crash_before_the_commit_repeats_records_and_loses_none(capsys: Output, tmp_path: Path) -> None:
    file = tmp_path / "records.db"
    with fresh_cluster(my_topic=1) as cluster:
        write(cluster, "my-topic", 1000)
        run_program("consumer_manual_commit", cluster, capsys, file, 500, 500)
        assert committed(cluster, "into-a-database", "my-topic") == [-1]
        run_program("consumer_manual_commit", cluster, capsys, file, 1000)
        assert committed(cluster, "into-a-database", "my-topic") == [1000]
    database = sqlite3.connect(file)
    offsets = [row[0] for row in database.execute("SELECT offset FROM records")]
    database.close()
    assert sorted(offsets) == sorted([*range(500), *range(1000)])


def test_each_partition_is_committed_by_itself(capsys: Output) -> None:
    with fresh_cluster(my_topic=2) as cluster:
        write(cluster, "my-topic", 5, 2)
        lines = run_program("consumer_partition_commit", cluster, capsys, 5)
        assert committed(cluster, "by-partition", "my-topic", 2) == [3, 2]
    assert sorted(lines) == ["0: 0", "0: 1", "1: 2", "1: 3", "2: 4"]


def test_offsets_in_a_store_of_ones_own_are_where_reading_goes_on(capsys: Output, tmp_path: Path) -> None:
    file = tmp_path / "offsets.db"
    with fresh_cluster(my_topic=1) as cluster:
        write(cluster, "my-topic", 3)
        first = run_program("rebalance_listener", cluster, capsys, file, 3)
        write(cluster, "my-topic", 2)
        second = run_program("rebalance_listener", cluster, capsys, file, 2)
        assert committed(cluster, "with-a-store", "my-topic") == [-1]
    assert first[:-1] == [f"topic = my-topic, partition = 0, offset = {number}" for number in range(3)]
    assert second[:-1] == [f"topic = my-topic, partition = 0, offset = {number}" for number in (3, 4)]
    assert re.fullmatch(r"Total rebalance time\(ms\): \d+", first[-1])


@pytest.mark.slow
def test_three_threads_with_a_consumer_each_read_everything_once(capsys: Output) -> None:
    with fresh_cluster(test_topic=3) as cluster:
        write(cluster, "test-topic", 30, 3)
        lines = run_program("consumer_per_thread", cluster, capsys, 4)
        assert committed(cluster, "testGroup1", "test-topic", 3) == [10, 10, 10]
    read = [re.fullmatch(r"(Thread-\d) consumed (\d)th message with offset: (\d+)", line) for line in lines]
    places = {(match[2], match[3]) for match in read if match}
    assert places == {(str(partition), str(offset)) for partition in range(3) for offset in range(10)}
    assert {match[1] for match in read if match} <= {"Thread-0", "Thread-1", "Thread-2"}


@pytest.mark.slow
def test_workers_process_everything_and_it_is_committed(capsys: Output) -> None:
    with fresh_cluster(test_topic=2) as cluster:
        write(cluster, "test-topic", 20, 2)
        lines = run_program("consumer_worker_pool", cluster, capsys, 2)
        assert committed(cluster, "with-workers", "test-topic", 2) == [10, 10]
    assert lines[-1] == "Starting to close the consumer..."
    assert sorted(lines[:-1]) == sorted(
        f"topic=test-topic, partition={partition}, offset={offset}" for partition in range(2) for offset in range(10)
    )


def test_a_consumer_without_a_group_reads_all_partitions(capsys: Output) -> None:
    with fresh_cluster(my_topic=2) as cluster:
        write(cluster, "my-topic", 4, 2)
        lines = run_program("consumer_standalone", cluster, capsys, 4)
        assert committed(cluster, "standalone", "my-topic", 2) == [2, 2]
    assert sorted(lines) == [
        f"topic=my-topic, partition={partition}, offset={offset}" for partition in range(2) for offset in range(2)
    ]
