"""Exactly once, for everybody to see: `make demo`.

A broker in this process, a generator of orders, and a Spark pipeline that checks and counts them in a process of its
own. In the middle the pipeline is killed with kill -9 and started again. At the end a table says how often each order
was counted, and `kafka-consumer-groups` how far behind the queries are.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from examples.orders_shop import Generator, PipelineProcess, count_checked, last_totals, make_topics
from moldau import Admin
from moldau.cli.kafka.consumer_groups import main as kafka_consumer_groups
from moldau.testing.local_cluster import LocalCluster

RATE = 500
GROUPS = ("orders-checked", "orders-totals")
RIGHT, WRONG = "as it must be", "WRONG"
WAIT_S_MAX = 240.0


def main(rate: int = RATE) -> None:
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="moldau-demo-") as folder, LocalCluster() as cluster:
        servers = cluster.bootstrap_servers
        make_topics(cluster)
        print(f"a broker listens on {servers}; {rate:,} orders a second begin to arrive")
        generator = Generator(servers, rate)
        generator.start()
        try:
            show(servers, generator, Path(folder))
        finally:
            generator.stop()
    print(f"that took {time.monotonic() - started:.0f} s; `make run` keeps broker and pipeline running")


def show(servers: str, generator: Generator, folder: Path) -> None:
    print("the pipeline of examples/orders.toml starts on Spark, in a process of its own")
    pipeline = PipelineProcess(servers, folder / "checkpoint", folder / "pipeline.log")
    try:
        wait_until(lambda: counted(servers) > 0, pipeline, folder)
        time.sleep(random.uniform(0.5, 2.0))  # any moment will do
        pipeline.kill()
        seen = counted(servers)
        print(f"kill -9 of the pipeline: of {generator.sent:,} orders {seen:,} are counted; it is started again")
        pipeline = PipelineProcess(servers, folder / "checkpoint", folder / "pipeline.log")
        wait_until(lambda: counted(servers) > seen, pipeline, folder)
        generator.stop()
        print("it goes on from its checkpoint; no more orders arrive")
        wait_until(lambda: is_done(servers, generator), pipeline, folder)
        print_result(servers, generator)
        for group in GROUPS:
            print(f"\n$ kafka-consumer-groups --bootstrap-server {servers} --describe --group {group}")
            kafka_consumer_groups(["--bootstrap-server", servers, "--describe", "--group", group])
        assert pipeline.stop() == 0, told(folder)
        print("\nthe pipeline was asked to stop, and has")
    finally:
        if pipeline.is_running:
            pipeline.kill()


def counted(servers: str) -> int:
    """How many orders are both checked and counted by country."""
    totals = sum(int(str(each["orders"])) for each in last_totals(servers).values())
    return min(totals, count_checked(servers).total())


def is_done(servers: str, generator: Generator) -> bool:
    """Whether all is counted, and the groups of the queries say so too."""
    if counted(servers) < generator.sent:
        return False
    with Admin(bootstrap_servers=servers) as admin:
        offsets = admin.list_consumer_group_offsets(GROUPS)
    read = [sum(each.offset for each in offsets[group].values() if each is not None) for group in GROUPS]
    return read == [generator.sent] * len(GROUPS)


def print_result(servers: str, generator: Generator) -> None:
    checked, totals = count_checked(servers), last_totals(servers)
    orders = sum(int(str(each["orders"])) for each in totals.values())
    cents = sum(int(str(each["cents"])) for each in totals.values())
    twice = sum(count > 1 for count in checked.values())
    rows = [
        ("orders sent", generator.sent, ""),
        ("orders checked", len(checked), verdict(len(checked) == generator.sent)),
        ("checked more than once", twice, verdict(twice == 0)),
        ("orders counted by country", orders, verdict(orders == generator.sent)),
        ("cents sent", generator.cents, ""),
        ("cents counted by country", cents, verdict(cents == generator.cents)),
    ]
    print()
    for name, number, right in rows:
        print(f"  {name:<28}{number:>16,}  {right}".rstrip())
    assert all(right != WRONG for _name, _number, right in rows)


def verdict(holds: bool) -> str:
    return RIGHT if holds else WRONG


def wait_until(holds: Callable[[], bool], pipeline: PipelineProcess, folder: Path) -> None:
    ends = time.monotonic() + WAIT_S_MAX
    while not holds():
        assert pipeline.is_running, f"the pipeline has ended: {told(folder)}"
        assert time.monotonic() < ends, f"that took too long: {told(folder)}"
        time.sleep(0.2)


def told(folder: Path) -> str:
    return (folder / "pipeline.log").read_text()[-3000:]


if __name__ == "__main__":
    main()
