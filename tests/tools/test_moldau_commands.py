"""The commands of `moldau` that talk to a broker, as a person types them."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moldau import Consumer, Producer
from moldau.cli.main import run as run_command
from tests.broker_process import free_port
from tests.tools.conftest import Outcome

Moldau = Callable[..., Outcome]


@pytest.fixture
def moldau(address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Moldau:
    """Any command, told where the broker is."""
    monkeypatch.setenv("MOLDAU_BOOTSTRAP_SERVER", address)

    def run(*words: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        code = run_command(words)
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture
def done(moldau: Moldau) -> Callable[..., str]:
    """What a command prints that succeeds."""

    def run(*words: str, stdin: bytes = b"") -> str:
        outcome = moldau(*words, stdin=stdin)
        assert outcome.code == 0, outcome
        return outcome.out

    return run


Done = Callable[..., str]


@pytest.fixture
def filled(done: Done, topic: str) -> str:
    """A topic of two partitions with ten records in the first, and a group of its name that has read four."""
    done("topics", "create", topic, "--partitions", "2")
    done("produce", topic, "--partition", "0", stdin=b"".join(b"value %d\n" % number for number in range(10)))
    done("groups", "reset", topic, "--topic", f"{topic}:0", "--to", "4", "--execute")
    return topic


def rows(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(text)
    return found


def test_a_topic_is_created_listed_described_changed_and_deleted(done: Done, topic: str) -> None:
    created = done("topics", "create", topic, "--partitions", "3", "--config", "retention.ms=60000")
    assert created.splitlines()[1].split() == [topic, "3", "1"]
    (listed,) = rows(done("topics", "list", topic, "--json"))
    assert (listed["partitions"], listed["replication_factor"], listed["under_replicated"]) == (3, 1, 0)
    (described,) = rows(done("topics", "describe", topic, "--json"))
    assert described["config"] == {"retention.ms": "60000"}
    assert [each["leader"] for each in described["partitions"]] == [0, 0, 0]
    done("topics", "alter", topic, "--partitions", "4", "--reset", "retention.ms", "--config", "segment.ms=100000")
    (altered,) = rows(done("topics", "describe", topic, "--json"))
    assert (altered["config"], len(altered["partitions"])) == ({"segment.ms": "100000"}, 4)
    assert done("topics", "delete", topic, "--yes") == f"deleted: {topic}\n"
    assert rows(done("topics", "list", topic, "--json")) == []


def test_a_table_and_its_json_say_the_same(done: Done, filled: str) -> None:
    (described,) = rows(done("topics", "describe", filled, "--json"))
    table = done("topics", "describe", filled).splitlines()
    assert table[0].startswith(f"{filled} (")
    assert table[1].split() == ["PARTITION", "LEADER", "REPLICAS", "ISR", "START", "END", "RECORDS", "SIZE"]
    first = described["partitions"][0]
    assert (first["start"], first["end"], first["records"]) == (0, 10, 10)
    assert table[2].split()[:7] == ["0", "0", "0", "0", "0", "10", "10"]


def test_creating_twice_fails_unless_it_may_exist(moldau: Moldau, done: Done, filled: str) -> None:
    failed = moldau("topics", "create", filled)
    assert (failed.code, failed.err.count("\n")) == (1, 1)
    assert "already exists" in failed.err
    done("topics", "create", filled, "--if-not-exists")


def test_a_move_is_planned_and_carried_out(moldau: Moldau, done: Done, filled: str) -> None:
    (first, second) = rows(done("topics", "move", filled, "--brokers", "0", "--json"))
    assert (first["from"], first["to"], second["to"]) == ([0], [0], [0])
    assert "there is no broker 7; the cluster has 0" in moldau("topics", "move", filled, "--brokers", "0,7").err
    failed = moldau("topics", "move", filled, "--brokers", "0", "--replication-factor", "2")
    assert "name as many brokers at least" in failed.err


def test_groups_are_listed_described_reset_and_deleted(done: Done, moldau: Moldau, filled: str) -> None:
    (listed,) = rows(done("groups", "list", filled, "--json"))
    assert (listed["state"], listed["members"], listed["lag"], listed["topics"]) == ("Empty", 0, 6, [filled])
    described = json.loads(done("groups", "describe", "--group", filled, "--json"))
    assert [(each["offset"], each["end"], each["lag"]) for each in described["partitions"]] == [(4, 10, 6)]
    for where, offset in (("earliest", 0), ("latest", 10), ("+2", 6), ("-3", 1), ("7", 7), ("P1D", 0)):
        (planned,) = rows(done("groups", "reset", filled, "--topic", f"{filled}:0", "--to", where, "--json"))
        assert (planned["offset"], planned["done"]) == (offset, False), where
    done("groups", "reset", filled, "--to", "latest", "--execute")
    assert rows(done("groups", "list", filled, "--json"))[0]["lag"] == 0
    assert done("groups", "delete", filled, "--yes") == f"deleted: {filled}\n"
    assert moldau("groups", "describe", filled).err.startswith(f"moldau: there is no group {filled};")


def test_a_group_that_reads_is_not_reset(moldau: Moldau, address: str, filled: str) -> None:
    with Consumer(bootstrap_servers=address, group_id=filled) as consumer:
        consumer.subscribe([filled])
        while not consumer.assignment():
            consumer.poll(0.1)
        failed = moldau("groups", "reset", filled, "--to", "earliest", "--execute")
    assert (failed.code, failed.err) == (1, f"moldau: {filled} has 1 members that read now: stop them first\n")


def test_rates_are_those_between_two_looks(done: Done, filled: str) -> None:
    seen = json.loads(done("groups", "rate", "--group", filled, "--interval", "0.1", "--json"))
    assert seen["partitions"] == [
        {"topic": filled, "partition": 0, "read_per_second": 0.0, "written_per_second": 0.0, "lag": 6}
    ]


def test_records_are_written_with_keys_and_headers_and_read_back(done: Done, topic: str) -> None:
    done("topics", "create", topic)
    told = done(
        "produce", topic, "--key-separator", ":", "--header", "from=test", "--json", stdin=b"a:1\nb:2\r\nc:3:4\n"
    )
    assert json.loads(told)["records"] == 3
    form = "{partition} {offset} {key} {value} {headers}"
    assert done("consume", topic, "--format", form).splitlines() == [
        "0 0 a 1 from=test",
        "0 1 b 2 from=test",
        "0 2 c 3:4 from=test",
    ]


def test_what_is_read_as_json_can_be_written_again(done: Done, address: str, topic: str) -> None:
    done("topics", "create", topic, f"{topic}-copy")
    with Producer(bootstrap_servers=address) as producer:
        producer.send(topic, b"\xff\x00", b"k", [("h", None), ("h", b"x")], timestamp=1_000_000)
        producer.send(topic, None, "ключ".encode())
    printed = done("consume", topic, "--json")
    done("produce", f"{topic}-copy", "--json-lines", stdin=printed.encode())
    copied = [json.loads(line) for line in done("consume", f"{topic}-copy", "--json").splitlines()]
    for row, line in zip(copied, printed.splitlines(), strict=True):
        assert row | {"topic": topic} == json.loads(line)
    assert copied[0]["value"] == {"base64": "/wA="}


def test_reading_begins_and_ends_where_it_is_told(done: Done, filled: str) -> None:
    def read(*words: str) -> list[int]:
        return [int(line.split()[1]) for line in done("consume", filled, *words).splitlines()]

    assert read() == list(range(10))
    assert read("--from", "-2") == [8, 9]
    assert read("--from", "3", "--until", "6", "--partition", "0") == [3, 4, 5]
    assert read("--count", "2") == [0, 1]
    assert read("--from", "latest") == []
    assert read("--from", "P1D", "--until", "end") == list(range(10))
    assert read("--until", "P1D") == []
    assert read("--group", filled, "--count", "3") == [4, 5, 6]
    assert read("--group", filled) == [7, 8, 9]
    assert read("--group", filled) == []


def test_a_rate_is_kept(done: Done, topic: str) -> None:
    done("topics", "create", topic)
    told = json.loads(done("produce", topic, "--rate", "100", "--json", stdin=b"x\n" * 30))
    assert told["seconds"] >= 0.29


def test_one_frame_of_top(done: Done, filled: str) -> None:
    shown = json.loads(done("top", "--once", "--interval", "0.1", "--json"))
    assert next(each for each in shown["topics"] if each["topic"] == filled)["end"] == 10
    assert next(each for each in shown["groups"] if each["group"] == filled)["lag"] == 6
    assert shown["brokers"][0]["controller"] is True
    assert done("top", "--once", "--interval", "0.1").startswith("cluster ")


def test_the_doctor_finds_a_healthy_cluster_well_and_says_what_lags(
    done: Done, moldau: Moldau, filled: str, tmp_path: Path
) -> None:
    found = rows(done("doctor", "--json"))
    assert {each["status"] for each in found} <= {"ok", "warning"}  # the machine's disk may be fuller than it should
    assert {each["area"] for each in found} == {"brokers", "versions", "disks", "partitions", "groups", "jobs"}
    done("produce", filled, "--partition", "0", stdin=b"more\n" * 2000)  # it lags more than groups of other tests
    strict = moldau("doctor", "--lag-max", "1500", "--strict", "--json")
    assert strict.code == 1
    lagging = [each for each in rows(strict.out) if each["what"] == f"{filled} lags by 2,006 records"]
    assert [each["advice"] for each in lagging] == ["start its members"]
    log = tmp_path / "broker.log"
    log.write_text("INFO fine\n[2026-01-01] ERROR disk on fire\n")
    unwell = moldau("doctor", "--log-file", str(log))
    assert unwell.code == 1
    assert "1 errors, the last: [2026-01-01] ERROR disk on fire" in unwell.out


def test_bench_measures_and_leaves_nothing_behind(done: Done) -> None:
    measured = rows(done("bench", "--records", "2000", "--size", "10", "--json"))
    assert [each["what"].split(",")[0] for each in measured] == ["write", "read", "producer", "consumer", "end to end"]
    assert all(each.get("records_per_second", 1) > 0 for each in measured)
    assert rows(done("topics", "list", "moldau-bench-*", "--json")) == []


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("topics", "alter", "x"), "nothing to change"),
        (("topics", "create", "x", "--config", "retention"), "is no setting: write NAME=VALUE"),
        (("topics", "create", "x", "--config", "nonsense=1"), "nonsense"),
        (("topics", "describe", "nowhere"), "nowhere"),
        (("topics", "list", "x", "--command-config", "/no/such/file"), "/no/such/file"),
        (("topics", "delete", "x"), "say --yes"),
        (("topics", "fly"), "it has list, describe, create"),
        (("groups", "describe"), "name one group"),
        (("groups", "reset", "nobody", "--to", "latest"), "there is no group nobody"),
        (("groups", "reset", "nobody", "--to", "tomorrow"), "is not a time"),
        (("consume", "nowhere"), "there is no topic nowhere; `moldau topics list`"),
        (("consume", "nowhere", "--follow", "--until", "3"), "--follow never ends"),
        (("consume", "nowhere", "--format", "{nonsense}"), "there is no {nonsense} in a format"),
        (("produce", "x", "/no/such/file"), "/no/such/file: No such file or directory"),
        (("produce", "x", "--set", "acks=7"), "acks"),
    ],
)
def test_what_is_wrong_is_told_in_a_line_or_two(moldau: Moldau, words: tuple[str, ...], text: str) -> None:
    failed = moldau(*words)
    assert failed.code == 1
    assert text in failed.err
    assert 1 <= failed.err.count("\n") <= 2
    assert "Traceback" not in failed.err


def test_input_that_makes_no_sense_is_told_with_its_line(moldau: Moldau, filled: str) -> None:
    assert "line 2 has no ':' behind a key" in moldau("produce", filled, "--key-separator", ":", stdin=b"a:1\nb\n").err
    assert "line 1 is no record" in moldau("produce", filled, "--json-lines", stdin=b"{nonsense\n").err
    assert "there is no field 'valeu'" in moldau("produce", filled, "--json-lines", stdin=b'{"value":1,"valeu":2}').err


def test_nobody_there_is_told_at_once_and_debug_shows_where(moldau: Moldau) -> None:
    where = f"127.0.0.1:{free_port()}"
    for words in (("topics", "list"), ("produce", "x"), ("consume", "x"), ("top",), ("doctor",), ("bench",)):
        failed = moldau(*words, "--bootstrap-server", where)
        assert failed.code == 1
        assert f"No broker can be reached at {where}" in failed.err
        assert failed.err.count("\n") == 2
    assert "Traceback" in moldau("topics", "list", "--bootstrap-server", where, "--debug").err
