"""A cluster of real processes is broken again and again while real clients work, and then its history is checked.

    python -m tests.cluster.faults --minutes 30 --seed 1

Producers are idempotent or transactional with acks=all, topics have three replicas of which two must be in sync, and a
group of consumers reads what is committed. The seed decides which faults come and for how long; what comes of them is
up to the machine. The end is a table of anomalies, which must all be zero.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from tests.cluster.checker import Anomalies, check, describe
from tests.cluster.cluster_process import ProcessCluster, process_cluster, wait_until
from tests.cluster.fault_mix import FAULTS, PARTITIONS, TOPIC
from tests.cluster.history import History
from tests.cluster.kafka_cluster_process import KafkaProcessCluster
from tests.cluster.workload import Client, GroupMember, PlainProducer, TransactionalProducer, read_everything

HEALED_S_MAX = 120.0
READ_S_MAX = 120.0


@dataclass
class Report:
    history: History
    anomalies: Anomalies
    faults: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not any(self.anomalies.values())

    def __str__(self) -> str:
        sends = Counter(str(send.outcome) for send in self.history.sends)
        ends = Counter(str(outcome) for outcome in self.history.transactions.values())
        return (
            f"{len(self.faults)} faults; sends {dict(sends)}; transactions {dict(ends)} (failed: aborted); "
            f"polls {len(self.history.polls)}; records in the log {len(self.history.log)}\n{describe(self.anomalies)}"
        )


def run(cluster: ProcessCluster, seconds: float, seed: int, names: Sequence[str] = tuple(FAULTS)) -> Report:
    """Break a cluster for so long, and check what its clients saw."""
    random = Random(seed)
    history = History()
    create_topic(cluster, TOPIC, PARTITIONS)
    producers = _clients(cluster, history, seed)
    members = [GroupMember(f"member-{number}", *_place(cluster), history, seed) for number in range(2)]
    for client in (*producers, *members):
        client.start()
    faults: list[str] = []
    started_at = time.monotonic()
    time.sleep(2)
    while time.monotonic() - started_at < seconds:
        name = random.choice(names)
        begun_s = time.monotonic() - started_at
        outcome = FAULTS[name](cluster, random)
        faults.append(f"{begun_s:7.1f} s  {name}: {outcome}")
        print(f"{faults[-1]}  [{len(history.sends)} sends, {len(history.polls)} polls]", flush=True)
        time.sleep(random.uniform(0, 5))
    wait_until(lambda: is_whole(cluster, TOPIC), "every replica is in sync again", HEALED_S_MAX)
    for producer in producers:
        producer.stop()
    for producer in producers:
        producer.join()
    read_everything(cluster.bootstrap_servers, TOPIC, PARTITIONS, history, READ_S_MAX)
    _wait_until_seen(history)
    for member in members:
        member.stop()
    for member in members:
        member.join()
    return Report(history, check(history), faults)


def create_topic(cluster: ProcessCluster, name: str, partitions: int, replication_factor: int = 3) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic(name, partitions, replication_factor)])[name].result(30)


def is_whole(cluster: ProcessCluster, topic: str) -> bool:
    """Whether all brokers are there, and all replicas of a topic in sync."""
    try:
        known = AdminClient({"bootstrap.servers": cluster.bootstrap_servers}).list_topics(timeout=5)
    except KafkaException:
        return False
    partitions = known.topics[topic].partitions.values() if topic in known.topics else ()
    is_in_sync = all(set(each.isrs) == set(each.replicas) and each.leader in each.isrs for each in partitions)
    return len(known.brokers) == len(cluster.ids) and bool(partitions) and is_in_sync


def _place(cluster: ProcessCluster) -> tuple[str, str, int]:
    return cluster.bootstrap_servers, TOPIC, PARTITIONS


def _clients(cluster: ProcessCluster, history: History, seed: int) -> list[Client]:
    return [
        PlainProducer("plain-0", *_place(cluster), history, seed),
        PlainProducer("plain-1", *_place(cluster), history, seed),
        TransactionalProducer("transactional-0", *_place(cluster), history, seed),
        TransactionalProducer("transactional-1", *_place(cluster), history, seed),
    ]


def _wait_until_seen(history: History) -> None:
    """Give the group time to read to the end; what it has not seen by then is an anomaly."""
    wanted = {poll.record for poll in history.log}
    ends_at = time.monotonic() + READ_S_MAX
    while time.monotonic() < ends_at and not wanted <= {poll.record for poll in history.polls}:
        time.sleep(0.5)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cluster.faults", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--zookeepers", type=int, default=1, help="nodes of the ZooKeeper ensemble")
    parser.add_argument("--only", action="append", choices=sorted(FAULTS), help="only these faults; may be repeated")
    parser.add_argument("--history", type=Path, metavar="FILE", help="where to save the history")
    parser.add_argument("--logs", type=Path, metavar="DIR", help="where to save what the brokers have said")
    parser.add_argument(
        "--kafka", action="store_true", help="Apache Kafka 3.9.1 instead of Moldau: a check of the checker"
    )
    chosen = parser.parse_args(arguments)
    kind = KafkaProcessCluster if chosen.kafka else ProcessCluster
    with process_cluster(zookeepers=chosen.zookeepers, kind=kind) as cluster:
        try:
            report = run(cluster, chosen.minutes * 60, chosen.seed, chosen.only or tuple(FAULTS))
        finally:
            if chosen.logs is not None:
                chosen.logs.mkdir(parents=True, exist_ok=True)
                for broker_id in cluster.ids:
                    (chosen.logs / f"broker-{broker_id}.log").write_text(cluster.log_of(broker_id))
    print(report)
    if chosen.history is not None:
        report.history.save(chosen.history)
    return 0 if report.is_clean else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
