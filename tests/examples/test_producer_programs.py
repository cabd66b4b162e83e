"""The producers of `examples/` write and print what they say."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from moldau.testing.local_cluster import LocalCluster
from tests.examples.program_output import SETTINGS, fresh_cluster, read, run_program

HUNDRED = [(b"%d" % number, b"%d" % number) for number in range(100)]


@pytest.mark.parametrize("program", ["producer_demo", "producer_basic"])
def test_a_hundred_records_are_written(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    with fresh_cluster() as cluster:
        assert run_program(program, cluster, capsys) == []
        assert read(cluster, "my-topic") == HUNDRED


def test_a_program_runs_from_the_command_line() -> None:
    root = Path(__file__).parents[2]
    with fresh_cluster() as cluster:
        command = [sys.executable, "-m", "examples.producer_basic", cluster.bootstrap_servers]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert read(cluster, "my-topic") == HUNDRED


def test_each_way_of_sending_says_where_the_record_went(capsys: pytest.CaptureFixture[str]) -> None:
    with fresh_cluster() as cluster:
        lines = run_program("producer_send_styles", cluster, capsys)
    assert lines == ["called back: my-topic-0@1", "waited: my-topic-0@2"]


@pytest.mark.slow
def test_the_class_of_an_error_decides(capsys: pytest.CaptureFixture[str]) -> None:
    with LocalCluster(SETTINGS, brokers=2) as cluster:
        cluster.create_topic("my-topic", config={"min.insync.replicas": "2"}, replication_factor=2)
        assert run_program("producer_errors", cluster, capsys) == ["written", "fatal: RecordTooLarge"]
        cluster.kill_broker(1)
        lines = run_program("producer_errors", cluster, capsys)
    assert lines == ["retriable: NOT_ENOUGH_REPLICAS", "fatal: RecordTooLarge"]


def test_audit_records_have_the_last_partition_to_themselves(capsys: pytest.CaptureFixture[str]) -> None:
    with fresh_cluster() as cluster:
        lines = run_program("custom_partitioner", cluster, capsys)
    ends = {line.rsplit(":", 1)[0]: int(line.rsplit(":", 1)[1]) for line in lines}
    assert ends["test-topic:2"] == 1
    assert ends["test-topic:0"] + ends["test-topic:1"] == 4


def test_a_user_goes_there_and_back(capsys: pytest.CaptureFixture[str]) -> None:
    with fresh_cluster() as cluster:
        assert run_program("custom_serializer", cluster, capsys) == []
        written = b'{"firstName":"XI","lastName":"HU","age":33,"address":"Beijing, China"}'
        assert read(cluster, "test-topic-users") == [(None, written)]
        lines = run_program("custom_deserializer", cluster, capsys)
    assert lines == ["User{firstName='XI', lastName='HU', age=33, address='Beijing, China'}"]


def test_what_is_no_user_is_a_warning_and_a_null(caplog: pytest.LogCaptureFixture) -> None:
    from examples.custom_serializer import UserSerializer

    assert UserSerializer().serialize("t", "somebody") is None  # type: ignore[arg-type]
    assert "Cannot serialize 'somebody'" in caplog.text


def test_interceptors_see_every_record_and_are_closed(capsys: pytest.CaptureFixture[str]) -> None:
    with fresh_cluster() as cluster:
        lines = run_program("producer_interceptors", cluster, capsys)
        values = [(value or b"").decode() for _, value in read(cluster, "test-topic-intercepted")]
    assert lines == ["Successful sent: 10", "Failed sent: 0"]
    times, messages = zip(*(value.split(",") for value in values), strict=True)
    assert messages == tuple(f"message{number}" for number in range(10))
    assert all(re.fullmatch(r"\d{13}", each) for each in times)


def test_threads_lose_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with fresh_cluster() as cluster:
        lines = run_program("producer_threads", cluster, capsys, 500)
        values = sorted(value or b"" for _, value in read(cluster, "from-threads"))
    assert [re.sub(r"[\d,]+ records", "N records", line) for line in lines] == [
        "one producer for 3 threads: N records/s",
        "a producer for each thread: N records/s",
    ]
    each = [b"thread %d, record %d" % (thread, number) for thread in range(3) for number in range(500)]
    assert values == sorted(each * 2)


@pytest.mark.slow
@pytest.mark.timeout(300)  # a record has two minutes to be delivered
def test_nothing_that_was_acknowledged_is_lost_when_brokers_are_killed(capsys: pytest.CaptureFixture[str]) -> None:
    with LocalCluster({**SETTINGS, "min.insync.replicas": "2"}, brokers=3) as cluster:
        cluster.create_topic("no-loss", replication_factor=3)

        def kill_one_after_the_other() -> None:
            for broker_id in range(3):
                time.sleep(0.3)
                cluster.kill_broker(broker_id)
                time.sleep(0.5)
                cluster.start_broker(broker_id)

        killing = Thread(target=kill_one_after_the_other)
        killing.start()
        lines = run_program("producer_no_loss", cluster, capsys, 30_000)
        killing.join()
        values = [value for _, value in read(cluster, "no-loss")]
    assert lines == ["acknowledged: 30000"]
    assert values == [b"%d" % number for number in range(30_000)]


@pytest.mark.slow
def test_nothing_fails_while_brokers_restart(capsys: pytest.CaptureFixture[str]) -> None:
    with LocalCluster(SETTINGS, brokers=2) as cluster:
        cluster.create_topic("test", 2, replication_factor=2)

        def restart_both() -> None:
            for broker_id in range(2):
                time.sleep(0.3)
                cluster.stop_broker(broker_id)
                time.sleep(0.3)
                cluster.start_broker(broker_id)

        restarting = Thread(target=restart_both)
        restarting.start()
        lines = run_program("rolling_restart_producer", cluster, capsys, 200, 0.01)
        restarting.join()
    assert lines == [f"Current success count: {number}, failed: 0" for number in range(1, 201)]


def test_transactions_are_seen_as_a_whole_or_not_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    with fresh_cluster(transactions_in=1, transactions_out=1) as cluster:
        lines = run_program("transactions", cluster, capsys)
    first = ["RECORD 0", "RECORD 1", "RECORD 2"]
    second = ["RECORD 3", "RECORD 4", "RECORD 5"]
    assert lines == [f"committed: {first}", f"aborted: {first}", f"committed: {first + second}"]
