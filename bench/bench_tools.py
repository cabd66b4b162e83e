"""Our tools beside Java's of Kafka 3.9.1: the same command on the same broker, each as a process, in turn.

The options of the JVM are those of Kafka's own scripts. What is timed is what a person waits for: from the start of the
process to its end. The performance test's figure is the one that each tool prints of itself.
"""

from __future__ import annotations

import compileall
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import moldau
from bench.bench_broker_process import BrokerProcess
from bench.measure import Row
from bench.moldau_server import MoldauServer
from moldau.cli.kafka.scripts import SCRIPTS
from tests.java_tools import fetch_jars

VERSION = "3.9.1"
REPETITIONS = 5
TOPICS = 20
RECORDS = 1_000_000
SIZE = 100
COMMAND_S_MAX = 300
LIST_S = 0.25
HELP_S = 0.15
_JVM_OPTIONS = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
)
_RATE = re.compile(rf"^{RECORDS} records sent, ([\d.]+) records/sec", re.MULTILINE)


def ours(name: str, *arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name(name)), *arguments]


def javas(heap: str, class_name: str, *arguments: str) -> list[str]:
    tools, core = f"org.apache.kafka:kafka-tools:{VERSION}", f"org.apache.kafka:kafka_2.13:{VERSION}"
    jars = fetch_jars(core, tools, transitive=True)
    return ["java", f"-Xmx{heap}", *_JVM_OPTIONS, "-cp", f"{jars}/*", class_name, *arguments]


def run(command: Sequence[str]) -> tuple[float, str]:
    """How long a command took, and what it printed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started_s = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_S_MAX, check=True, env=environment)
    return time.perf_counter() - started_s, done.stdout


def in_turn(*commands: Sequence[str]) -> list[float]:
    """The median seconds of each."""
    for command in commands:
        run(command)
    samples: list[list[float]] = [[] for _ in commands]
    for _ in range(REPETITIONS):
        for index, command in enumerate(commands):
            samples[index].append(run(command)[0])
    return [statistics.median(sample) for sample in samples]


def listing(server: BrokerProcess) -> list[Row]:
    arguments = ("--bootstrap-server", server.bootstrap, "--list")
    mine, java = in_turn(
        ours("kafka-topics", *arguments), javas("256M", "org.apache.kafka.tools.TopicCommand", *arguments)
    )
    return [
        Row("kafka-topics --list", mine, java, "s", f"Java {VERSION}", "≤0.25"),
        Row("kafka-topics --list", mine, LIST_S, "s", "the bar", "≤1"),
    ]


def help_of_all() -> Row:
    installed = [name for name in ("moldau", *SCRIPTS) if Path(ours(name)[0]).exists()]
    medians = {name: in_turn(ours(name, "--help"))[0] for name in installed}
    slowest = max(medians, key=lambda name: medians[name])
    return Row(f"--help, the slowest: {slowest}", medians[slowest], HELP_S, "s", "the bar", "≤1")


def writing(server: BrokerProcess) -> Row:
    samples: tuple[list[float], list[float]] = ([], [])
    for _ in range(3):
        topic = server.new_topic(1)
        words = ("--topic", topic, "--num-records", str(RECORDS), "--record-size", str(SIZE), "--throughput", "-1")
        settings = ("--producer-props", f"bootstrap.servers={server.bootstrap}")
        pair = (
            ours("kafka-producer-perf-test", *words, *settings),
            javas("512M", "org.apache.kafka.tools.ProducerPerformance", *words, *settings),
        )
        for command, rates in zip(pair, samples, strict=True):
            found = _RATE.search(run(command)[1])
            assert found is not None
            rates.append(float(found[1]))
    mine, java = map(statistics.median, samples)
    return Row(f"kafka-producer-perf-test, {SIZE} B", mine, java, "records/s", f"Java {VERSION}", "≥0.5")


def rows() -> list[Row]:
    compileall.compile_dir(Path(moldau.__file__).parent, quiet=1)
    with MoldauServer() as server:
        for _ in range(TOPICS):
            server.new_topic(1)
        return [*listing(server), help_of_all(), writing(server)]
