"""Kafka's own command line tools, unmodified, of one version: `tools.run("kafka-topics", "--list")`.

All commands of a version run in one JVM (`java/ToolServer.java`), which makes them about twenty times as fast. What the
tools log from WARN up is part of their standard error.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import pytest

from tests.java_tools import ROOT, fetch_jars, require_java

CLASSES = ROOT / "build" / "classes"
SOURCES = Path(__file__).parent / "java"
PROGRAMS = ("ToolServer.java", "AdminCalls.java", "ManyPartitions.java")
COMMAND_S_MAX = 60.0
LOGGING = "org.slf4j:slf4j-simple:1.7.36"
LOGGING_OF_SERVERS = "slf4j-reload4j"

_JVM_OPTIONS = (
    "-Xmx256m",
    "-Xshare:auto",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)
_CLASSES = {
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "transactional-message-copier": "org.apache.kafka.tools.TransactionalMessageCopier",
    "admin-calls": "AdminCalls",
    "many-partitions": "ManyPartitions",
}
_CLASSES_3 = {
    "kafka-dump-log": "kafka.tools.DumpLogSegments",
    "kafka-broker-api-versions": "kafka.admin.BrokerApiVersionsCommand",
    "kafka-console-producer": "kafka.tools.ConsoleProducer",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended."""

    exit_code: int
    stdout: str
    stderr: str


class KafkaTools:
    """The tools of one version of Kafka, in a JVM that ends with the `with` block."""

    def __init__(self, version: str) -> None:
        require_javac()
        self.version = version
        self._classes = _CLASSES | (_CLASSES_3 if version.startswith("3.") else {})
        jars = fetch_jars(
            f"org.apache.kafka:kafka_2.13:{version}", f"org.apache.kafka:kafka-tools:{version}", transitive=True
        )
        tools = jars / f"kafka-tools-{version}.jar"
        libraries = [path for path in jars.glob("*.jar") if path != tools and LOGGING_OF_SERVERS not in path.name]
        path = ":".join(map(str, [_compiled(version, jars), *libraries, *fetch_jars(LOGGING).glob("*.jar")]))
        command = ["java", *_JVM_OPTIONS, "-cp", path, "ToolServer", str(tools)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def run(self, name: str, *arguments: str, stdin: str = "") -> str:
        """What a command prints that succeeds."""
        outcome = self.try_run(name, *arguments, stdin=stdin)
        assert outcome.exit_code == 0, f"{name} {' '.join(arguments)}: {outcome}"
        return outcome.stdout

    def try_run(self, name: str, *arguments: str, stdin: str = "") -> Outcome:
        """Whatever a command does."""
        words = [self._classes[name], *arguments]
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        watchdog = threading.Timer(COMMAND_S_MAX, self._process.kill)
        watchdog.start()
        try:
            requests.write(struct.pack(">i", len(words)) + b"".join(map(_packed, [*words, stdin])))
            requests.flush()
            (exit_code,) = struct.unpack(">i", answers.read(4))
            return Outcome(exit_code, _unpacked(answers), _unpacked(answers))
        except (OSError, struct.error) as error:
            raise AssertionError(f"{name} {' '.join(arguments)} took the JVM down, or more than its time") from error
        finally:
            watchdog.cancel()


def _compiled(version: str, jars: Path) -> Path:
    """A folder with our own programs, compiled once for this version."""
    sources = [SOURCES / name for name in PROGRAMS]
    content = b"".join([version.encode(), *(source.read_bytes() for source in sources)])
    folder = CLASSES / hashlib.sha256(content).hexdigest()[:12]
    if not folder.exists():
        making = folder.with_suffix(f".{os.getpid()}")
        making.mkdir(parents=True)
        subprocess.run(["javac", "-d", making, "-cp", f"{jars}/*", *sources], check=True, timeout=COMMAND_S_MAX)
        try:
            making.rename(folder)
        except OSError:  # another test process was faster
            shutil.rmtree(making)
    return folder


def _packed(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">i", len(data)) + data


def _unpacked(stream: IO[bytes]) -> str:
    (length,) = struct.unpack(">i", stream.read(4))
    return stream.read(length).decode()


def require_javac() -> None:
    """Skip where a machine has a Java runtime and no compiler; fail where that must not be."""
    require_java()
    if shutil.which("javac") is None:
        reason = "needs javac on PATH"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
