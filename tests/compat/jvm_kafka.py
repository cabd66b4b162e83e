"""Apache Kafka 3.9.1 itself: its tools, and a broker with a ZooKeeper of its own, on ports that are free.

Everything lives in one folder: `data` is the broker's log directory, `*.out` is what the processes printed. A process
that is still there at the end is killed.
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.java_tools import fetch_jars, require_java, run_java_class

VERSION = "3.9.1"
START_S_MAX = 40
STOP_S_MAX = 30
BROKER_ID = 1

_JVM_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_LOG4J = """log4j.rootLogger=WARN, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=%d %p %c: %m%n
"""
_SETTINGS = {
    "broker.id": BROKER_ID,
    "offsets.topic.num.partitions": 1,
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.num.partitions": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0,
    "controlled.shutdown.enable": "false",  # there is nobody to hand over to
    "log.initial.task.delay.ms": 1000,
    "num.io.threads": 2,
    "num.network.threads": 1,
    "background.threads": 1,
    "log.cleaner.backoff.ms": 100,
}


def kafka_jars() -> Path:
    """The broker, the tools and all that they need."""
    require_java()
    return fetch_jars(
        f"org.apache.kafka:kafka_2.13:{VERSION}", f"org.apache.kafka:kafka-tools:{VERSION}", transitive=True
    )


def dump_log_segments(files: Iterable[Path], *options: str) -> str:
    """What `kafka-dump-log.sh --files …` prints."""
    listed = ",".join(str(path) for path in files)
    return run_java_class("kafka.tools.DumpLogSegments", kafka_jars(), "--files", listed, *options)


class JvmProcess:
    """A main class that runs until it is stopped."""

    def __init__(self, name: str, folder: Path, *arguments: str) -> None:
        self.name = name
        self.output = folder / f"{name.rsplit('.', 1)[-1]}.out"
        log4j = folder / "log4j.properties"
        log4j.write_text(_LOG4J)
        options = [*_JVM_OPTIONS, f"-Dlog4j.configuration=file:{log4j}", "-Dzookeeper.admin.enableServer=false"]
        command = ["java", *options, "-cp", f"{kafka_jars()}/*", name, *arguments]
        with self.output.open("ab") as output:
            self._process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)

    def wait_until(self, is_ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_S_MAX
        while not is_ready():
            assert self._process.poll() is None, f"{self.name} has ended:\n{self._tail()}"
            assert time.monotonic() < deadline, f"{self.name} is not ready after {START_S_MAX} s:\n{self._tail()}"
            time.sleep(0.05)

    def stop(self) -> None:
        """As an operator stops it, and wait until it has."""
        self._process.terminate()
        self._process.wait(STOP_S_MAX)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(STOP_S_MAX)

    def _tail(self) -> str:
        return self.output.read_text(errors="replace")[-4000:]


class JvmKafka:
    """One broker that can be stopped, killed and started again; its ZooKeeper stays."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.folder = folder
        self.data = folder / "data"
        self._zookeeper_port, self.port = free_ports(2)
        self.bootstrap = f"127.0.0.1:{self.port}"
        self._settings = {name.replace("_", "."): value for name, value in settings.items()}
        self._zookeeper: JvmProcess | None = None
        self._broker: JvmProcess | None = None

    def __enter__(self) -> JvmKafka:
        folder, port = self.folder, self._zookeeper_port
        zoo = folder / "zookeeper.properties"
        zoo.write_text(
            f"dataDir={folder / 'zookeeper'}\nclientPort={port}\nclientPortAddress=127.0.0.1\ntickTime=500\n"
        )
        self._zookeeper = JvmProcess("org.apache.zookeeper.server.ZooKeeperServerMain", folder, str(zoo))
        self._zookeeper.wait_until(lambda: accepts(port))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in (self._broker, self._zookeeper):
            if process is not None:
                process.kill()

    def start(self) -> None:
        """Start the broker, and wait until it leads all partitions that there are."""
        settings = {
            **_SETTINGS,
            "listeners": f"PLAINTEXT://{self.bootstrap}",
            "zookeeper.connect": f"127.0.0.1:{self._zookeeper_port}",
            "log.dirs": self.data,
            **self._settings,
        }
        properties = self.folder / "server.properties"
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        self._broker = JvmProcess("kafka.Kafka", self.folder, str(properties))
        self._broker.wait_until(lambda: accepts(self.port) and self._leads_everything())

    def stop(self) -> None:
        assert self._broker is not None
        self._broker.stop()
        self._broker = None

    def kill(self) -> None:
        assert self._broker is not None
        self._broker.kill()
        self._broker = None

    def _leads_everything(self) -> bool:
        from confluent_kafka import KafkaException

        try:
            metadata = self.admin().list_topics(timeout=2)
        except KafkaException:
            return False
        partitions = [one for topic in metadata.topics.values() for one in topic.partitions.values()]
        return bool(metadata.brokers) and all(one.leader == BROKER_ID for one in partitions)

    def admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def create_topic(self, name: str, **config: object) -> None:
        from confluent_kafka.admin import NewTopic

        named = {key.replace("_", "."): str(value) for key, value in config.items()}
        topic = NewTopic(name, num_partitions=1, replication_factor=1, config=named)
        admin = self.admin()  # the answer comes only as long as there is a client
        admin.create_topics([topic])[name].result(START_S_MAX)


@contextmanager
def jvm_kafka(folder: Path, **settings: object) -> Iterator[JvmKafka]:
    """A broker that runs."""
    with JvmKafka(folder, **settings) as kafka:
        kafka.start()
        yield kafka


def accepts(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def free_ports(count: int) -> list[int]:
    """Ports that nobody had a moment ago; all different."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
