"""Apache Kafka 3.9.1 as one member of a cluster whose other brokers, and whose ZooKeeper, are somebody else's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.compat.jvm_kafka import JvmProcess, accepts, free_ports

_SETTINGS = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT",
    "inter.broker.listener.name": "INSIDE",
    "num.io.threads": "2",
    "num.network.threads": "1",
    "background.threads": "1",
    "log.cleaner.dedupe.buffer.size": "2097152",
}


class JvmMember:
    """A broker that can be stopped, killed and started again with its data, at the same addresses."""

    def __init__(self, folder: Path, broker_id: int, zookeeper: str, settings: Mapping[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.broker_id = broker_id
        self.data = folder / "data"
        self.port, inside = free_ports(2)
        self.address = f"127.0.0.1:{self.port}"
        self._folder = folder
        self._process: JvmProcess | None = None
        own = {
            "broker.id": str(broker_id),
            "zookeeper.connect": zookeeper,
            "log.dirs": str(self.data),
            "listeners": f"PLAINTEXT://{self.address},INSIDE://127.0.0.1:{inside}",
        }
        content = "".join(f"{name}={value}\n" for name, value in {**settings, **_SETTINGS, **own}.items())
        (folder / "server.properties").write_text(content)

    def start(self) -> None:
        self._process = JvmProcess("kafka.Kafka", self._folder, str(self._folder / "server.properties"))
        self._process.wait_until(lambda: accepts(self.port) and self._has_leaders())

    def _has_leaders(self) -> bool:
        """It knows itself, a controller, and the leaders of what there is."""
        try:
            metadata = AdminClient({"bootstrap.servers": self.address, "log_level": 0}).list_topics(timeout=2)
        except KafkaException:
            return False
        partitions = [one for topic in metadata.topics.values() for one in topic.partitions.values()]
        alive = self.broker_id in metadata.brokers and metadata.controller_id in metadata.brokers
        return alive and all(one.leader in metadata.brokers for one in partitions)

    def stop(self) -> None:
        """A controlled shutdown."""
        assert self._process is not None
        self._process.stop()
        self._process = None

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None
