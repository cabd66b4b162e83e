"""Apache Kafka 4.3.0 as a process: a node that is broker and controller (KRaft), with Kafka's own defaults.

The options of the JVM are those of Kafka's start script, with a heap of at most 1 GB; the script itself is left out, so
its time is not counted. Only the replication of the internal topics differs, which one node cannot do; they have 50
partitions, as ours have.
"""

from __future__ import annotations

import base64
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path

from bench.bench_broker_process import BrokerProcess, free_ports
from tests.java_tools import fetch_jars

VERSION = "4.3.0"
LOG4J_VERSION = "2.25.4"  # what this Kafka ships with
FORMAT_S_MAX = 60

_JVM_OPTIONS = (
    "-Xmx1g",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
)
_LOG4J = """rootLogger.level=WARN
rootLogger.appenderRef.stdout.ref=STDOUT
appender.stdout.type=Console
appender.stdout.name=STDOUT
appender.stdout.layout.type=PatternLayout
appender.stdout.layout.pattern=[%d] %p %m (%c)%n
"""
_SETTINGS = {
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
}


class Quorum:
    """The nodes of a cluster, counted from 1, where their controllers listen, and settings of all of them."""

    def __init__(self, nodes: int, settings: Mapping[str, object] | None = None) -> None:
        self.cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        self.controllers = {node: f"127.0.0.1:{port}" for node, port in enumerate(free_ports(nodes), 1)}
        self.settings = dict(settings or {})


class KafkaServer(BrokerProcess):
    name = "kafka"
    warm_up_s = 12.0

    def __init__(self, *, started: bool = True, node_id: int = 1, quorum: Quorum | None = None) -> None:
        super().__init__(started=started)
        self._node_id = node_id
        self._quorum = quorum or Quorum(1)

    def prepare(self) -> None:
        controller = self._quorum.controllers[self._node_id]
        settings = {
            **_SETTINGS,
            **self._quorum.settings,
            "node.id": self._node_id,
            "controller.quorum.voters": ",".join(f"{id_}@{at}" for id_, at in self._quorum.controllers.items()),
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap}",
            "log.dirs": self.data,
        }
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        self._log4j.write_text(_LOG4J)
        # With "=", since an id may begin with a minus.
        formatting = ["format", f"--cluster-id={self._quorum.cluster_id}", "--config", str(self._properties)]
        done = subprocess.run(
            self._java("kafka.tools.StorageTool", *formatting), capture_output=True, timeout=FORMAT_S_MAX, check=False
        )
        if done.returncode:
            raise RuntimeError(f"Kafka's storage tool failed:\n{done.stdout.decode()}{done.stderr.decode()}")

    def command(self) -> list[str]:
        return self._java("kafka.Kafka", str(self._properties))

    def _java(self, name: str, *arguments: str) -> list[str]:
        jars = kafka_jars()
        log4j = f"-Dlog4j2.configurationFile={self._log4j}"
        # Without the options that others may have set for their Java: two garbage collectors would be refused.
        return ["env", "-u", "JDK_JAVA_OPTIONS", "java", *_JVM_OPTIONS, log4j, "-cp", f"{jars}/*", name, *arguments]

    @property
    def _properties(self) -> Path:
        return self.folder / "server.properties"

    @property
    def _log4j(self) -> Path:
        return self.folder / "log4j2.properties"


def kafka_jars() -> Path:
    """The broker and all that it needs, from Maven Central."""
    binding = f"org.apache.logging.log4j:log4j-slf4j-impl:{LOG4J_VERSION}"
    return fetch_jars(f"org.apache.kafka:kafka_2.13:{VERSION}", binding, transitive=True)
