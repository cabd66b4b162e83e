"""Our tools and Kafka's own of the same name, with the same arguments on the same broker: the same lines, the same end.

What is bound to differ is made equal first: ids and times. Where we differ on purpose, `docs/compatibility.md` says
how and why, and there is no case here.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from moldau import Admin, Consumer, Producer, TopicPartition
from moldau.cli.kafka.scripts import SCRIPTS
from tests.broker_process import BrokerProcess
from tests.compat.kafka_tools import KafkaTools

pytestmark = [pytest.mark.java, pytest.mark.slow]

VERSION = "3.9.1"
RECORDS = 10

Compare = Callable[..., None]


@pytest.fixture
def filled(address: str, topic: str) -> str:
    """A topic of two partitions with ten records in the first, and a group that has read four of them."""
    with Admin(bootstrap_servers=address) as admin, Producer(bootstrap_servers=address) as producer:
        admin.create_topics([topic])
        admin.create_partitions({topic: 2})
        for number in range(RECORDS):
            producer.send(topic, f"value {number}", f"key {number}", partition=0, timestamp=1_000_000 + number)
        producer.flush()
        admin.alter_consumer_group_offsets(topic, {TopicPartition(topic, 0): 4})
    return topic


def normal(text: str, leave_out: str = r"(?!)") -> list[str]:
    """Lines without what differs from run to run, in any order; spaces at the end and needless quotes do not count."""
    text = re.sub(leave_out, "", text.replace('"', ""))
    text = re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[:,.]\d{3}", "TIME", text)
    text = re.sub(r"[0-9.]+(?= (?:ms|records/sec|MB/sec))", "N", text)
    # Java lists log directories in the order of the hashes of their names.
    text = re.sub(r",?(?=\{partitions:)|(?=\]\}\],version)", "\n", text)
    return sorted(line.rstrip() for line in text.splitlines() if line.strip())


@pytest.fixture
def compare(
    tools_of: Callable[[str], KafkaTools],
    address: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Compare:
    """Run both; what they print and how they end has to be the same."""
    tools = tools_of(VERSION)

    def run(
        name: str,
        *words: str,
        streams: str = "both",
        code: int = 0,
        where: tuple[str, ...] = ("--bootstrap-server", address),
        stdin: str = "",
        leave_out: str = r"(?!)",
    ) -> None:
        told = (*words, *where)
        theirs = tools.try_run(name, *told, stdin=stdin)
        capfd.readouterr()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        our_code = import_module(f"moldau.cli.kafka.{SCRIPTS[name]}").main(told)
        ours = capfd.readouterr()
        assert (our_code, theirs.exit_code) == (code, code), (ours, theirs)
        if streams == "mixed":  # Kafka tells errors on either, we on standard error
            first = theirs.stderr.split("\tat ")[0] + theirs.stdout
            assert set(normal(ours.out + ours.err)) <= set(normal(first)) | {f"Run {name} --help for its options."}
        else:
            assert normal(ours.out, leave_out) == normal(theirs.stdout, leave_out)

    return run


def test_topics_are_printed_alike(compare: Compare, filled: str) -> None:
    compare("kafka-topics", "--list", "--topic", filled)
    compare("kafka-topics", "--describe", "--topic", filled)
    compare("kafka-topics", "--describe", "--topic", filled, "--at-min-isr-partitions")
    compare("kafka-topics", "--describe", "--topic", filled, "--under-replicated-partitions")
    compare("kafka-topics", "--create", "--topic", filled, "--if-not-exists")
    compare("kafka-topics", "--delete", "--topic", "nowhere", "--if-exists")


def test_failures_with_topics_are_told_alike(compare: Compare, filled: str) -> None:
    compare("kafka-topics", "--create", "--topic", filled, streams="mixed", code=1)
    compare("kafka-topics", "--create", "--topic", "x", "--replication-factor", "9", streams="mixed", code=1)
    compare("kafka-topics", "--create", "--topic", "x", "--partitions", "0", streams="mixed", code=1)
    compare("kafka-topics", "--list", "--create", streams="mixed", code=1)
    compare("kafka-topics", "--create", streams="mixed", code=1)


def test_groups_are_printed_alike(compare: Compare, filled: str) -> None:
    group = ("--group", filled)
    compare("kafka-consumer-groups", "--describe", *group)
    compare("kafka-consumer-groups", "--describe", *group, "--state")
    compare("kafka-consumer-groups", "--list")
    for words in (
        ("--to-earliest",),
        ("--to-latest",),
        ("--to-offset", "3"),
        ("--to-current",),
        ("--by-duration", "P1D"),
    ):
        reset = ("--reset-offsets", *group, "--topic", f"{filled}:0", *words, "--dry-run", "--export")
        compare("kafka-consumer-groups", *reset)


def test_settings_are_printed_alike(compare: Compare, filled: str) -> None:
    entity = ("--entity-type", "topics", "--entity-name", filled)
    compare("kafka-configs", "--alter", *entity, "--add-config", "retention.ms=100000,cleanup.policy=[compact,delete]")
    compare("kafka-configs", "--describe", *entity)
    compare("kafka-configs", "--alter", *entity, "--delete-config", "retention.ms")
    compare("kafka-configs", "--alter", *entity, streams="mixed", code=1)


def test_offsets_are_printed_alike(compare: Compare, filled: str) -> None:
    for time in ("-1", "-2", "max-timestamp", "1000005"):
        compare("kafka-get-offsets", "--topic", filled, "--time", time)
    compare("kafka-get-offsets", "--topic-partitions", f"{filled}:0-1")
    compare("kafka-get-offsets", "--topic", "nowhere", streams="mixed", code=1)


def test_records_are_printed_alike(compare: Compare, filled: str) -> None:
    words = ("--topic", filled, "--from-beginning", "--max-messages", str(RECORDS))
    shown = ("print.key", "print.timestamp", "print.offset", "print.partition", "print.headers")
    compare("kafka-console-consumer", *words)
    compare("kafka-console-consumer", *words, *(word for each in shown for word in ("--property", f"{each}=true")))
    compare("kafka-console-consumer", "--topic", filled, "--partition", "0", "--offset", "7", "--max-messages", "2")


def test_logs_and_brokers_are_printed_alike(compare: Compare, filled: str, tmp_path: Path) -> None:
    compare("kafka-cluster", "cluster-id")
    compare("kafka-leader-election", "--election-type", "preferred", "--topic", filled, "--partition", "0")
    path = tmp_path / "delete.json"
    path.write_text(f'{{"partitions":[{{"topic":"{filled}","partition":0,"offset":3}}],"version":1}}')
    compare("kafka-delete-records", "--offset-json-file", str(path))
    path.write_text(f'{{"version":1,"partitions":[{{"topic":"{filled}","partition":0,"replicas":[0]}}]}}')
    compare("kafka-reassign-partitions", "--verify", "--reassignment-json-file", str(path))
    compare("kafka-reassign-partitions", "--list")


def test_clusters_and_features_are_printed_alike(compare: Compare, address: str) -> None:
    compare("kafka-cluster", "unregister", "--id", "7")
    compare(*_before("kafka-features", ("--bootstrap-server", address), "describe"), where=())
    # What is usable is the client's matter, and each knows some requests that the other does not.
    foreign = r"\[usable: \d+\]|.*\b(?:UNKNOWN|UNSUPPORTED|NODE_TOO_NEW|74)\b.*|,(?=\n)"
    compare("kafka-broker-api-versions", leave_out=foreign)


def test_directories_and_segments_are_printed_alike(compare: Compare, filled: str, broker: BrokerProcess) -> None:
    compare("kafka-log-dirs", "--describe", "--topic-list", filled)
    compare("kafka-log-dirs", "--describe", "--broker-list", "7", streams="mixed", code=1)
    (segment,) = broker.data.parent.glob(f"*/{filled}-0/*.log")
    for words in (("--print-data-log",), ("--deep-iteration",), ()):
        compare("kafka-dump-log", "--files", str(segment), *words, where=())
    compare("kafka-dump-log", "--files", str(segment.with_suffix(".index")), where=())
    compare("kafka-dump-log", "--files", str(segment.with_suffix(".timeindex")), where=())


def test_transactions_are_printed_alike(compare: Compare, filled: str, address: str) -> None:
    with Producer(bootstrap_servers=address, transactional_id=filled) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(filled, b"open", partition=1)
        producer.flush()
        where = ("--bootstrap-server", address)
        compare(*_before("kafka-transactions", where, "list"), where=())
        age = r"(?<=\t)\d+ +\t(?=[^\t]*-1)"
        named = ("describe", "--transactional-id", filled)
        compare(*_before("kafka-transactions", where, *named), where=(), leave_out=age)
        partition = ("--topic", filled, "--partition", "1")
        compare(*_before("kafka-transactions", where, "describe-producers", *partition), where=())
        producer.abort_transaction()


def _before(name: str, where: tuple[str, ...], *words: str) -> tuple[str, ...]:
    """Some of Java's tools want the address before the action."""
    return (name, *where, *words)


def test_performance_is_printed_alike(compare: Compare, filled: str, address: str) -> None:
    size = ("--topic", filled, "--num-records", "50", "--record-size", "10", "--throughput", "-1")
    numbers = r"\d+\.?\d*(?= (?:ms|records/sec|MB/sec))"
    where = ("--producer-props", f"bootstrap.servers={address}")
    compare("kafka-producer-perf-test", *size, where=where, leave_out=numbers)
    rates = r"TIME|\d{4}-[\d :-]+|\b\d+\.\d{4}\b|(?<=, )\d+(?=, )"
    reading = ("--topic", filled, "--messages", "10", "--timeout", "2000")
    compare("kafka-consumer-perf-test", *reading, leave_out=rates)


def test_what_is_typed_is_written_alike(compare: Compare, filled: str, address: str) -> None:
    keyed = ("--property", "parse.key=true", "--property", "key.separator=:", "--property", "null.marker=NULL")
    for stdin in ("a:1\nb:2\n", "c:NULL\n"):
        compare("kafka-console-producer", "--topic", filled, *keyed, stdin=stdin)
    with Consumer(bootstrap_servers=address) as consumer:
        partitions = [TopicPartition(filled, number) for number in range(2)]
        consumer.assign(partitions)
        consumer.seek_to_beginning(partitions)
        found: list[tuple[bytes | None, bytes | None]] = []
        while len(found) < RECORDS + 6:
            found += [(each.key, each.value) for each in consumer.poll(5)]
    written = sorted((key, value or b"") for key, value in found if key in (b"a", b"b", b"c"))
    assert written == [(b"a", b"1")] * 2 + [(b"b", b"2")] * 2 + [(b"c", b"")] * 2
