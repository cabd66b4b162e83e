"""`kafka-producer-perf-test`: how many records a second can be written, and how long each takes."""

from __future__ import annotations

import random
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from itertools import count, repeat
from pathlib import Path
from typing import TYPE_CHECKING

from moldau.base.clock import SystemClock
from moldau.cli.kafka.connecting import check_reachable
from moldau.cli.kafka.failures import ToolFailed, WrongUsage
from moldau.cli.kafka.parser import ToolParser, has, require
from moldau.cli.kafka.properties import merged
from moldau.cli.kafka.tool import FAILED, Tool

if TYPE_CHECKING:
    from moldau.cli.kafka.latencies import Latencies
    from moldau.clients.producer.plain import Producer

TRANSACTION_MS = 3000
THROTTLE_EVERY_MS = 2.0
PAYLOADS = ("record-size", "payload-file", "payload-monotonic")


def add_options(parser: ToolParser) -> None:
    parser.option("topic", "the topic to write to", metavar="TOPIC")
    parser.option("num-records", "how many records to write", metavar="N", type=int)
    parser.option("record-size", "the size of each, in bytes", metavar="N", type=int)
    parser.option("payload-file", "a text file with values to choose from", metavar="FILE")
    parser.option("payload-delimiter", "what is between the values in it; a line's end unless said", metavar="TEXT")
    parser.flag("payload-monotonic", "values are the numbers from 0 on")
    parser.option("throughput", "at most so many records a second; -1 is as many as can be", metavar="N", type=float)
    parser.several("producer-props", "settings of the producer, such as bootstrap.servers=localhost:9092")
    parser.option("producer.config", "a file with settings of the producer", metavar="FILE")
    parser.option("bootstrap-server", "brokers to connect to, in place of bootstrap.servers", metavar="HOST:PORT,…")
    parser.flag("print-metrics", "print the producer's metrics at the end")
    parser.option("transactional-id", "write in transactions, under this id", metavar="ID")
    parser.option("transaction-duration-ms", "how long each transaction is", metavar="MS", type=int)


def settings_of(options: Namespace) -> dict[str, object]:
    settings = merged(options.producer_config, options.producer_props_all)
    if options.bootstrap_server is not None:
        settings["bootstrap.servers"] = options.bootstrap_server
    if "bootstrap.servers" not in settings:
        raise WrongUsage("Either --producer-props or --producer.config must name bootstrap.servers.")
    duration_ms = options.transaction_duration_ms or 0
    if duration_ms and not options.transactional_id and "transactional.id" not in settings:
        options.transactional_id = f"performance-producer-{random.getrandbits(64):x}"
    if options.transactional_id:
        settings["transactional.id"] = options.transactional_id
    if "transactional.id" in settings and not duration_ms:
        options.transaction_duration_ms = TRANSACTION_MS
    settings.setdefault("client.id", "perf-producer-client")
    return settings


def payloads(options: Namespace) -> Iterator[bytes]:
    """Values without end."""
    if options.payload_monotonic:
        return (str(number).encode() for number in count())
    if options.payload_file is not None:
        delimiter = (options.payload_delimiter or "\\n").encode().decode("unicode_escape")
        values = [each.encode() for each in Path(options.payload_file).read_text().split(delimiter) if each]
        if not values:
            raise ToolFailed(f"File is empty, or has no values: {options.payload_file}")
        return (random.choice(values) for _ in count())
    if options.record_size <= 0:
        raise ToolFailed("--record-size should be greater than zero.")
    from moldau.cli.kafka.java_random import capitals

    return repeat(capitals(options.record_size))


def run(options: Namespace) -> int:
    require(options, "topic", "num-records", "throughput")
    if options.num_records <= 0:
        raise ToolFailed("--num-records should be greater than zero.")
    if sum(has(options, each) for each in PAYLOADS) != 1:
        raise WrongUsage("You must provide exactly one of --record-size or --payload-file or --payload-monotonic.")
    settings = settings_of(options)
    values = payloads(options)
    check_reachable(str(settings["bootstrap.servers"]))

    from moldau.cli.kafka.latencies import Latencies
    from moldau.clients.producer.plain import Producer

    latencies = Latencies(SystemClock())
    with Producer(settings) as producer:
        if "transactional.id" in settings:
            producer.init_transactions()
        write(producer, options, values, latencies)
        producer.flush()
        latencies.settle()
        metrics = producer.metrics() if options.print_metrics else {}
    latencies.print_total()
    for name in sorted(metrics):
        print(f"{name:<60} : {metrics[name]:.3f}")
    if latencies.failed:
        print(f"{latencies.failed} records failed, the last with: {latencies.error}", file=sys.stderr)
    return FAILED if latencies.failed else 0


def write(producer: Producer, options: Namespace, values: Iterator[bytes], latencies: Latencies) -> None:
    topic, send = options.topic, producer.send
    clock = SystemClock()
    wait = _throttle(options.throughput, clock)
    duration_ms = options.transaction_duration_ms if options.transactional_id else None
    begun_ms = None
    for number, value in zip(range(options.num_records), values, strict=False):
        if duration_ms is not None and begun_ms is None:
            producer.begin_transaction()
            begun_ms = clock.monotonic_ms()
        now_ms = clock.monotonic_ms()
        latencies.sent(send(topic, value), now_ms)
        if begun_ms is not None and duration_ms is not None and now_ms - begun_ms >= duration_ms:
            producer.commit_transaction()
            begun_ms = None
        if wait is not None:
            wait(number + 1)
    if begun_ms is not None:
        producer.commit_transaction()


def _throttle(throughput: float, clock: SystemClock) -> Callable[[int], None] | None:
    """What waits after a record so that the rate is kept, or nothing."""
    if throughput < 0:
        return None
    if throughput == 0:
        raise ToolFailed("--throughput is 0: nothing would ever be written; -1 is no limit")
    from threading import Event

    started_ms = clock.monotonic_ms()
    never = Event()

    def wait(sent: int) -> None:
        ahead_ms = sent * 1000 / throughput - (clock.monotonic_ms() - started_ms)
        if ahead_ms > THROTTLE_EVERY_MS:
            never.wait(ahead_ms / 1000)

    return wait


TOOL = Tool(
    "kafka-producer-perf-test",
    "Verify the performance of producers.",
    add_options,
    run,
    (
        "--topic orders --num-records 500000 --record-size 200 --throughput -1 "
        "--producer-props bootstrap.servers=localhost:9092 acks=all",
    ),
)
main = TOOL.main
