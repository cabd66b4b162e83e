"""Apache Kafka 3.9.1 in ZooKeeper mode in the place of our brokers, to see what the checker says of it."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

from tests.cluster.cluster_process import START_S_MAX, ProcessCluster, wait_until
from tests.cluster.znode_view import ZnodeView
from tests.compat.jvm_kafka import kafka_jars

JVM_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
LOG4J = """log4j.rootLogger=WARN, stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


class KafkaProcessCluster(ProcessCluster):
    clean_exit_code = 128 + signal.SIGTERM  # the JVM's own

    def _command(self, broker_id: int) -> list[str]:
        properties = self.folder / f"server-{broker_id}.properties"
        settings = {**self.settings_of(broker_id), "zookeeper.connect": self.zookeeper_of(broker_id)}
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        log4j = self.folder / "log4j.properties"
        log4j.write_text(LOG4J)
        options = [*JVM_OPTIONS, f"-Dlog4j.configuration=file:{log4j}"]
        return ["java", *options, "-cp", f"{self._jars()}/*", "kafka.Kafka", str(properties)]

    def _spawn(self, broker_id: int) -> None:
        """When the former session is over: a broker that finds itself registered gives up."""
        with ZnodeView(self.ensemble.connect + self.chroot) as znodes:
            wait_until(lambda: broker_id not in znodes.brokers(), f"broker {broker_id} is not registered", START_S_MAX)
        super()._spawn(broker_id)

    def _wait_until_listening(self, broker_id: int) -> None:
        wait_until(lambda: self._accepts(broker_id), f"broker {broker_id} listens", START_S_MAX)

    def _accepts(self, broker_id: int) -> bool:
        if broker_id not in self.running:
            raise AssertionError(f"broker {broker_id} has ended:\n{self.log_of(broker_id)[-4000:]}")
        try:
            socket.create_connection(("127.0.0.1", self.ports[broker_id]), timeout=1).close()
        except OSError:
            return False
        return True

    @staticmethod
    def _jars() -> Path:
        return kafka_jars()
