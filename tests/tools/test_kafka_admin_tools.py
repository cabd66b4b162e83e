"""kafka-configs, -get-offsets, -delete-records, -log-dirs and the elections against a broker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moldau import Admin, Producer
from moldau.clients.admin import ConfigResource
from tests.tools.conftest import Run


@pytest.fixture
def filled(address: str, topic: str) -> str:
    """A topic of two partitions with five records in the first."""
    with Admin(bootstrap_servers=address) as admin, Producer(bootstrap_servers=address) as producer:
        admin.create_topics([topic])
        admin.create_partitions({topic: 2})
        for number in range(5):
            producer.send(topic, str(number), partition=0, timestamp=1000 + number)
        producer.flush()
    return topic


def written(folder: Path, document: object) -> str:
    path = folder / "document.json"
    path.write_text(json.dumps(document))
    return str(path)


def test_settings_of_a_topic_are_changed_and_described(run: Run, filled: str) -> None:
    entity = ("--entity-type", "topics", "--entity-name", filled)
    changed = run("configs", "--alter", *entity, "--add-config", "retention.ms=1000,cleanup.policy=[compact,delete]")
    assert changed.out == f"Completed updating config for topic {filled}.\n"
    head, *rows = run("configs", "--describe", *entity).lines
    assert head == f"Dynamic configs for topic {filled} are:"
    assert rows[0].startswith(
        "  cleanup.policy=compact,delete sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:cleanup.pol"
    )
    assert [row.split("=")[0].strip() for row in rows] == ["cleanup.policy", "retention.ms"]
    run("configs", "--alter", "--topic", filled, "--delete-config", "retention.ms")
    assert "retention.ms" not in run("configs", "--describe", "--topic", filled).out
    assert "  retention.ms=604800000 sensitive=false" in run("configs", "--describe", "--topic", filled, "--all").out


def test_settings_of_brokers_have_defaults(run: Run, address: str) -> None:
    changed = run("configs", "--alter", "--broker-defaults", "--add-config", "log.retention.ms=100000000")
    assert changed.out == "Completed updating default config for brokers in the cluster.\n"
    described = run("configs", "--describe", "--entity-type", "brokers", "--entity-default")
    assert described.lines[0] == "Default configs for brokers in the cluster are:"
    assert "  log.retention.ms=100000000" in described.out
    everything = run("configs", "--describe", "--entity-type", "brokers").lines
    assert "Dynamic configs for broker 0 are:" in everything
    run("configs", "--alter", "--broker-defaults", "--delete-config", "log.retention.ms")
    with Admin(bootstrap_servers=address) as admin:
        assert admin.describe_configs([ConfigResource.broker()])[ConfigResource.broker()] == {}


def test_wrong_settings_are_refused(tool: Run, address: str, filled: str) -> None:
    at = ("--bootstrap-server", address)
    for words, text in (
        (at, "Command must include exactly one action: --describe, --alter"),
        ((*at, "--describe"), "At least one entity type must be specified"),
        ((*at, "--describe", "--entity-type", "cats"), "Invalid entity type cats, the entity type must be one of"),
        (
            (*at, "--alter", "--topic", filled),
            "At least one of --add-config, --add-config-file, or --delete-config must",
        ),
        ((*at, "--alter", "--topic", filled, "--add-config", "x"), "all configs to be added must be in the format"),
        ((*at, "--alter", "--topic", filled, "--add-config", "retention.ms=x"), "retention.ms"),
        ((*at, "--alter", "--topic", filled, "--delete-config", "nothing"), "Invalid config(s): nothing"),
        ((*at, "--describe", "--broker", "one"), "must be a valid integer broker id, but it is: one"),
    ):
        failed = tool("configs", *words)
        assert failed.code == 1, words
        assert text in failed.err


def test_offsets_are_got_by_time_and_by_rule(run: Run, tool: Run, address: str, filled: str) -> None:
    assert run("get_offsets", "--topic", filled).out == f"{filled}:0:5\n{filled}:1:0\n"
    assert run("get_offsets", "--topic", filled, "--time", "-2").out == f"{filled}:0:0\n{filled}:1:0\n"
    assert run("get_offsets", "--topic", filled, "--time", "1003").out == f"{filled}:0:3\n"
    assert run("get_offsets", "--topic-partitions", f"{filled}:1-").out == f"{filled}:1:0\n"
    assert (
        tool("get_offsets", "--broker-list", address, "--topic", filled, "--partitions", "0").out == f"{filled}:0:5\n"
    )
    failed = tool("get_offsets", "--bootstrap-server", address, "--topic", "nowhere")
    assert failed.code == 1
    assert failed.err == "Error occurred: Could not match any topic-partitions with the specified filters\n"


def test_records_are_deleted_by_a_document(run: Run, tool: Run, address: str, filled: str, tmp_path: Path) -> None:
    rows = [{"topic": filled, "partition": 0, "offset": 3}]
    printed = run("delete_records", "--offset-json-file", written(tmp_path, {"partitions": rows, "version": 1}))
    assert printed.lines == [
        "Executing records delete operation",
        "Records delete operation completed:",
        f"partition: {filled}-0\tlow_watermark: 3",
    ]
    for document, text in (
        ({"partitions": rows * 2}, f"Offset json file contains duplicate topic partitions: {filled}-0"),
        ({"partitions": rows, "version": 2}, "Not supported version field value 2"),
        ({"parts": rows}, 'is missing "partitions" field'),
        ({"partitions": [{"topic": filled}]}, 'each of "partitions" needs "partition"'),
    ):
        failed = tool(
            "delete_records", "--bootstrap-server", address, "--offset-json-file", written(tmp_path, document)
        )
        assert failed.code == 1
        assert text in failed.err
    (tmp_path / "document.json").write_text("{broken")
    broken = tool(
        "delete_records", "--bootstrap-server", address, "--offset-json-file", str(tmp_path / "document.json")
    )
    assert "is not valid JSON" in broken.err
    missing = tool("delete_records", "--bootstrap-server", address, "--offset-json-file", str(tmp_path / "none"))
    assert missing.err == f"{tmp_path / 'none'}: No such file or directory\n"


def test_log_directories_are_described_as_json(run: Run, tool: Run, address: str, filled: str) -> None:
    querying, received, document = run("log_dirs", "--describe", "--topic-list", filled).lines
    assert querying == "Querying brokers for log directories information"
    assert received == "Received log directory information from brokers 0"
    (broker,) = json.loads(document)["brokers"]
    partitions = broker["logDirs"][0]["partitions"]
    assert [each["partition"] for each in partitions] == [f"{filled}-0", f"{filled}-1"]
    assert partitions[0]["size"] > partitions[1]["size"] == 0
    failed = tool("log_dirs", "--bootstrap-server", address, "--describe", "--broker-list", "7")
    assert failed.code == 1
    assert "The given brokers do not exist from --broker-list: 7. Current existent brokers: 0" in failed.err


def test_leaders_are_elected(run: Run, tool: Run, address: str, filled: str, tmp_path: Path) -> None:
    words = ("--election-type", "preferred", "--topic", filled, "--partition", "0")
    assert run("leader_election", *words).out == f"Valid replica already elected for partitions {filled}-0\n"
    path = written(tmp_path, {"partitions": [{"topic": filled, "partition": 1}]})
    printed = run("preferred_replica_election", "--path-to-json-file", path)
    assert printed.out == f"Valid replica already elected for partitions {filled}-1\n"
    at = ("--bootstrap-server", address, "--election-type", "preferred")
    failed = tool("leader_election", *at, "--topic", "nowhere", "--partition", "0")
    assert failed.code == 1
    assert "Error completing leader election (PREFERRED) for partition: nowhere-0: " in failed.out
    assert failed.err == "1 replica(s) could not be elected\n"
    assert "One and only one of the following options is required" in tool("leader_election", *at).err


def test_only_kraft_forgets_brokers(run: Run, tool: Run) -> None:
    told = run("cluster", "unregister", "--id", "7")
    assert told.out == "The target cluster does not support the broker unregistration API.\n"
    failed = tool("cluster", "unregister", "--bootstrap-server", "localhost:9092")
    assert (failed.code, failed.err.splitlines()[0]) == (1, 'Missing required argument "[id]"')
