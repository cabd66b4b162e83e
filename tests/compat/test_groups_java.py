"""Java consumers in groups, alone and with other clients, and Kafka's own tools for groups."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from itertools import count

import pytest

from moldau.testing.local_cluster import LocalCluster
from tests.compat.group_members import (
    KAFKA_PYTHON_RACES,
    AiokafkaConsumer,
    ConfluentConsumer,
    GroupConsumer,
    KafkaPythonConsumer,
    consuming,
    eventually,
)
from tests.compat.java_group_member import ASSIGNORS, JavaConsumer, JavaConsumer3
from tests.compat.kafka_tools import KafkaTools
from tests.compat.test_groups_python_clients import PARTITIONS, all_owned, all_received, produce, shown

pytestmark = [pytest.mark.java, pytest.mark.slow]

Run = Callable[..., str]
numbers = count(1)


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster({"offsets.topic.num.partitions": "1"}) as cluster:
        yield cluster


@pytest.fixture
def topic(cluster: LocalCluster) -> str:
    name = f"java-{next(numbers)}"
    cluster.create_topic(name, PARTITIONS)
    produce(cluster.bootstrap_servers, name)
    return name


@pytest.fixture
def groups(tools: KafkaTools, cluster: LocalCluster) -> Run:
    """kafka-consumer-groups: what it prints."""
    return lambda *words: tools.run("kafka-consumer-groups", "--bootstrap-server", cluster.bootstrap_servers, *words)


@pytest.mark.parametrize("client", [JavaConsumer, JavaConsumer3], ids=["4.3.0", "3.9.1"])
@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_two_java_consumers(cluster: LocalCluster, topic: str, client: type[GroupConsumer], assignor: str) -> None:
    members = [client(cluster.bootstrap_servers, f"group-{topic}", [topic], assignor) for _ in range(2)]
    with consuming(*members):
        eventually(all_owned(topic, members), shown(members))
        eventually(all_received(topic, members), shown(members))
        members[0].stop()
        eventually(all_owned(topic, members[1:]), shown(members))


@KAFKA_PYTHON_RACES
def test_four_clients_in_one_group(cluster: LocalCluster, topic: str) -> None:
    clients: list[type[GroupConsumer]] = [JavaConsumer, ConfluentConsumer, KafkaPythonConsumer, AiokafkaConsumer]
    members = [client(cluster.bootstrap_servers, f"mixed-{topic}", [topic], "range") for client in clients]
    with consuming(*members):
        eventually(
            lambda: (
                sorted(len(member.owned) for member in members) == [1, 1, 2, 2]
                and len({part for member in members for part in member.owned}) == PARTITIONS
            ),
            shown(members),
        )
        eventually(all_received(topic, members), shown(members))


def test_static_java_consumers(cluster: LocalCluster, topic: str) -> None:
    members = [
        JavaConsumer(cluster.bootstrap_servers, f"static-{topic}", [topic], "range", name) for name in ("i", "j")
    ]
    with consuming(*members):
        eventually(all_owned(topic, members), shown(members))
        owned = members[0].owned
        members[0].stop()
        again = JavaConsumer(cluster.bootstrap_servers, f"static-{topic}", [topic], "range", "i")
        with consuming(again):
            eventually(lambda: again.owned == owned, shown([again, members[1]]))
            assert members[1].owned.isdisjoint(owned)


def table(printed: str) -> list[list[str]]:
    """The cells of what the tool prints, without the line of titles."""
    lines = [line.split() for line in printed.splitlines() if line.strip()]
    return [cells for cells in lines if cells[0] != "GROUP"]


def test_the_tool_shows_a_group(cluster: LocalCluster, topic: str, groups: Run) -> None:
    group_id = f"shown-{topic}"
    member = ConfluentConsumer(cluster.bootstrap_servers, group_id, [topic], "range")
    with consuming(member):
        eventually(all_received(topic, [member]), shown([member]))
        time.sleep(0.5)  # auto.commit.interval.ms
        assert group_id in groups("--list").split()
        assert [group_id, "Stable"] in table(groups("--list", "--state", "stable"))
        rows = table(groups("--describe", "--group", group_id))
        assert sorted((int(row[2]), int(row[3]), int(row[4]), int(row[5])) for row in rows) == [
            (partition, 10, 10, 0) for partition in range(PARTITIONS)
        ]
        (found,) = table(groups("--describe", "--group", group_id, "--members"))
        assert found[2:5] == ["/127.0.0.1", "rdkafka", str(PARTITIONS)]
        state = groups("--describe", "--group", group_id, "--state")
        assert re.search(rf"{group_id}\s+{re.escape(cluster.bootstrap_servers)}\s+\(0\)\s+range\s+Stable\s+1", state)


def test_the_tool_resets_and_deletes(cluster: LocalCluster, topic: str, groups: Run) -> None:
    group_id = f"moved-{topic}"
    reset = ("--reset-offsets", "--group", group_id, "--topic", topic, "--execute")

    def offsets() -> list[int]:
        return [int(row[3]) for row in sorted(table(groups("--describe", "--group", group_id)), key=lambda row: row[2])]

    groups(*reset, "--to-latest")
    assert offsets() == [10] * PARTITIONS
    groups(*reset, "--shift-by", "-3")
    assert offsets() == [7] * PARTITIONS
    groups(*reset, "--to-earliest")
    assert offsets() == [0] * PARTITIONS
    groups("--reset-offsets", "--group", group_id, "--topic", f"{topic}:1,2", "--to-offset", "4", "--execute")
    assert offsets() == [0, 4, 4, 0, 0, 0]
    groups("--delete-offsets", "--group", group_id, "--topic", f"{topic}:0")
    assert offsets() == [4, 4, 0, 0, 0]
    assert "was successful" in groups("--delete", "--group", group_id)
    assert group_id not in groups("--list").split()


def test_the_tool_does_not_delete_a_group_with_members(
    cluster: LocalCluster, topic: str, groups: Run, tools: KafkaTools
) -> None:
    group_id = f"kept-{topic}"
    member = ConfluentConsumer(cluster.bootstrap_servers, group_id, [topic], "range")
    with consuming(member):
        eventually(all_owned(topic, [member]), shown([member]))
        words = ("--bootstrap-server", cluster.bootstrap_servers, "--delete", "--group", group_id)
        outcome = tools.try_run("kafka-consumer-groups", *words)
        assert "GroupNotEmptyException" in outcome.stdout + outcome.stderr
        assert group_id in groups("--list").split()


def test_kafkas_tools_read_our_records_of_groups(cluster: LocalCluster, topic: str, tools: KafkaTools) -> None:
    group_id = f"stored-{topic}"
    member = ConfluentConsumer(cluster.bootstrap_servers, group_id, [topic], "range", "i")
    with consuming(member):
        eventually(all_received(topic, [member]), shown([member]))
        time.sleep(0.5)  # auto.commit.interval.ms
    (segment,) = (cluster.data / "__consumer_offsets-0").glob("*.log")
    printed = tools.run("kafka-dump-log", "--files", str(segment), "--offsets-decoder")
    mine = [line for line in printed.splitlines() if group_id in line]
    assert any(f'"topic":"{topic}"' in line and '"partition":5' in line and '"offset":10' in line for line in mine)
    assert any('"protocol":"range"' in line and '"groupInstanceId":"i"' in line for line in mine)
    assert "error" not in printed.lower()
