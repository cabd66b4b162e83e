"""The scripts of consumer groups over the wire, against our broker and against Apache Kafka 3.9.1: the same answers.

What a script says of answers must come, in any order, from both; what it says of records and states cannot be seen from
here. Left out are scripts in which much time passes, the coordinator is thrown away, or transactions are open.
"""

from __future__ import annotations

import re
import shlex
import socket
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from moldau.protocol.api import ApiKey, response_class
from moldau.protocol.codec import decode, encode
from moldau.protocol.headers import decode_response_header, encode_request_header
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.schema import Message
from moldau.testing.local_cluster import LocalCluster
from tests.compat.jvm_kafka import jvm_kafka
from tests.script.group_answers import show
from tests.script.group_requests import REQUESTS, client_of, version_of

SCRIPTS = Path(__file__).parent.parent / "script" / "groups"
PLAYED = (
    "second_member",
    "leaving",
    "protocols",
    "static_members",
    "static_member_places",
    "simple_groups",
    "refusals",
)
LEADER_LEAVES = "leaving"
ATTEMPTS_MAX = 6
ANSWER_S_MAX = 12.0
QUIET_S = 0.15
DELAY_MS = 3_000
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
MEMBER_ID = re.compile(rf"\b([a-z])-({UUID})")
NUMBERED = re.compile(r"\b([a-eijk])-(\d+)\b(?!@)")
# Not for the wire: transactions need a coordinator of their own, the rest is about the stage.
LEFT_OUT = re.compile(r"^> (txn-commit|end|set|restart|hold|release|lose|forget)\b")
UNSEEN = re.compile(
    r"^  (log: |\S+: (Empty|PreparingRebalance|CompletingRebalance|Stable|Dead), generation|\S+: Dead$)"
)
DESCRIBE_VERSION_MAX = 5
"""Of Kafka 3.9; what version 6 tells of a group that does not exist is left out of the comparison."""
DIFFERING = frozenset(
    (
        # A join that is refused makes a group there, and changes nothing here.
        "> describe h",
        # The coordinator of 3.9 that is not the new one does not tell it in this way.
        "> commit g member=a-9 generation=1 offsets=t-0@1 version=9",
    )
)
numbers = count(1)


def ask(address: str, request: Message, version: int, client_id: str = "compared") -> Message:
    """One request on a connection of its own."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), 60) as connection:
        frame = encode_request_header(request.KEY, version, 5, client_id) + encode(request, version)
        connection.sendall(struct.pack(">i", len(frame)) + frame)
        data = b""
        while len(data) < 4 or len(data) < 4 + struct.unpack_from(">i", data)[0]:
            piece = connection.recv(1 << 16)
            if not piece:
                raise ConnectionError("closed without an answer")
            data += piece
    cls = response_class(ApiKey(request.KEY))
    return decode(cls, version, data, decode_response_header(data[4:], cls, version)[1] + 4)


class WireStage:
    """Plays a script on a real broker; groups and member ids get other names there, which it translates."""

    def __init__(self, address: str, script: str) -> None:
        self.address = address
        self.prefix = f"script-{next(numbers)}-"
        self.answers: list[str] = []
        self._expected_numbers: dict[str, list[int]] = defaultdict(list)
        seen: set[tuple[str, str]] = set()
        for line in script.splitlines():
            for found in NUMBERED.findall(line):
                if found not in seen and line.startswith("  "):  # else it is nobody's
                    self._expected_numbers[found[0]].append(int(found[1]))
                seen.add(found)
        self._number_of: dict[str, str] = {}  # member id → its name in the script
        self._lock = threading.Lock()

    def send(self, line: str) -> None:
        name, *words = shlex.split(line, comments=True)
        if name == "wait":
            time.sleep(int(words[0]) / 1000 + 0.05)
            return
        real = {short: member_id for member_id, short in self._number_of.items()}
        given = dict(word.split("=", 1) for word in words if "=" in word)
        for key in ("member", "assign"):
            if key in given:
                given[key] = NUMBERED.sub(lambda match: real.get(match[0], match[0]), given[key])
        group_id = self.prefix + next((word for word in words if "=" not in word), "g")
        who = given.pop("as", "") or next(
            (w.split("=")[1] for w in words if w.startswith("member=")), given.get("client", "")
        )
        request = REQUESTS[name](group_id, given)
        version = version_of(request, given)
        if name == "describe":
            version = min(version, DESCRIBE_VERSION_MAX)
        threading.Thread(target=self._ask, args=(who, request, version, client_of(given)), daemon=True).start()

    def _ask(self, who: str, request: Message, version: int, client_id: str) -> None:
        try:
            answer = ask(self.address, request, version, client_id)
        except OSError:
            return  # the script is over, and nobody waits for this one
        with self._lock:
            for line in show(answer):
                if request.KEY == ApiKey.LIST_GROUPS and not line.startswith(self.prefix):
                    continue
                text = MEMBER_ID.sub(lambda match: self._short(match[1], match[0]), line.replace(self.prefix, ""))
                self.answers.append(f"{who}: {text}" if who else text)

    def _short(self, name: str, member_id: str) -> str:
        if member_id not in self._number_of:
            self._number_of[member_id] = f"{name}-{self._expected_numbers[name].pop(0)}"
        return self._number_of[member_id]

    def wait_for(self, expected: list[str]) -> list[str]:
        """The answers that came: as many as are expected, and those that come soon after."""
        deadline = time.monotonic() + ANSWER_S_MAX
        while len(self.answers) < len(expected) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(QUIET_S)
        with self._lock:
            answers, self.answers = self.answers, []
        return answers


def play(address: str, script: str, *, differing: frozenset[str] = frozenset()) -> None:
    stage = WireStage(address, script)
    lines = script.splitlines()
    for number, line in enumerate(lines):
        if not line.startswith("> ") or LEFT_OUT.match(line):
            continue
        following = lines[number + 1 :]
        end = next((index for index, one in enumerate(following) if not one.startswith("  ")), len(following))
        expected = [normal(one) for one in following[:end] if not UNSEEN.match(one)]
        stage.send(line[2:])
        came = [normal(f"  {one}") for one in stage.wait_for(expected)]
        assert line in differing or sorted(came) == sorted(expected), line


def normal(line: str) -> str:
    """Without the order of members, which Kafka does not promise, and without what only newer versions tell."""
    line = line.replace(" GROUP_ID_NOT_FOUND,", ",")
    found = re.search(r"members ([^,]+)", line)
    return line if found is None else line.replace(found[1], " ".join(sorted(found[1].split())))


@pytest.fixture(scope="module")
def moldau() -> Iterator[str]:
    with LocalCluster({"group.initial.rebalance.delay.ms": str(DELAY_MS)}) as cluster:
        prepare(cluster.bootstrap_servers)
        yield cluster.bootstrap_servers


@pytest.fixture(scope="module")
def apache_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with jvm_kafka(tmp_path_factory.mktemp("kafka"), group_initial_rebalance_delay_ms=DELAY_MS) as kafka:
        prepare(kafka.bootstrap)
        yield kafka.bootstrap


def prepare(address: str) -> None:
    topics = [CreatableTopic(name=name, num_partitions=4, replication_factor=1) for name in "tu"]
    ask(address, CreateTopicsRequest(topics=topics, timeout_ms=20_000), 5)
    deadline = time.monotonic() + 30
    while getattr(ask(address, FindCoordinatorRequest(key="g"), 2), "error_code", 0):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(1)  # until what has been created is loaded


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYED)
def test_our_broker_answers_as_the_script_says(moldau: str, name: str) -> None:
    play(moldau, (SCRIPTS / f"{name}.txt").read_text())


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.parametrize("name", PLAYED)
def test_apache_kafka_answers_as_the_script_says(apache_kafka: str, name: str) -> None:
    """Who leads when the leader has left is a matter of hashes there: of some attempts one goes as it does here."""
    script = (SCRIPTS / f"{name}.txt").read_text()
    for attempt in range(ATTEMPTS_MAX):
        try:
            play(apache_kafka, script, differing=DIFFERING)
        except AssertionError:
            if name != LEADER_LEAVES or attempt == ATTEMPTS_MAX - 1:
                raise
        else:
            return
