"""The Java consumer as a member of a group: Kafka's own `VerifiableConsumer`, which tells what it does in JSON."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterable

from tests.compat.group_members import SESSION_MS, GroupConsumer
from tests.java_tools import fetch_jars, require_java

ASSIGNORS = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "roundrobin": "org.apache.kafka.clients.consumer.RoundRobinAssignor",
    "sticky": "org.apache.kafka.clients.consumer.StickyAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}
_JVM_OPTIONS = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")


class JavaConsumer(GroupConsumer):
    version = "4.3.0"

    def __init__(
        self, address: str, group_id: str, topics: Iterable[str], assignor: str, instance: str | None = None
    ) -> None:
        super().__init__(address, group_id, topics, assignor, instance)
        require_java()
        version = self.version
        jars = fetch_jars(
            f"org.apache.kafka:kafka_2.13:{version}", f"org.apache.kafka:kafka-tools:{version}", transitive=True
        )
        (topic,) = self.topics
        command = ["java", *_JVM_OPTIONS, "-cp", f"{jars}/*", "org.apache.kafka.tools.VerifiableConsumer"]
        command += ["--bootstrap-server", address, "--topic", topic, "--group-id", group_id]
        command += ["--reset-policy", "earliest", "--session-timeout", str(SESSION_MS), "--enable-autocommit"]
        command += ["--assignment-strategy", ASSIGNORS[assignor]]
        if instance is not None:
            command += ["--group-instance-id", instance]
        self._command = command

    def consume(self) -> None:
        process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert process.stdout is not None
        watch = threading.Thread(target=self._stop_when_asked, args=(process,), daemon=True)
        watch.start()
        with process.stdout:
            for line in process.stdout:
                if line.startswith("{"):
                    self._hear(json.loads(line))
        process.wait()
        watch.join()

    def _stop_when_asked(self, process: subprocess.Popen[str]) -> None:
        while process.poll() is None:
            if self.is_stopping:
                process.terminate()
                return
            threading.Event().wait(0.05)

    def _hear(self, event: dict[str, object]) -> None:
        parts = event.get("partitions")
        if not isinstance(parts, list):
            return
        named = {(part["topic"], part["partition"]) for part in parts}
        if event["name"] == "partitions_assigned":
            self.owned = self.owned | named
        elif event["name"] == "partitions_revoked":
            self.owned = self.owned - named
        elif event["name"] == "records_consumed":
            self.received += [
                (part["topic"], part["partition"], offset)
                for part in parts
                for offset in range(part["minOffset"], part["maxOffset"] + 1)
            ]


class JavaConsumer3(JavaConsumer):
    version = "3.9.1"
