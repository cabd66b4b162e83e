"""A broker at work, with a client that knows nothing of it: `make demo`.

Starts the broker that `moldau serve` runs, makes topics through Kafka's protocol, lets confluent-kafka produce and
consume records in each codec, stops the broker in the middle, starts it again, and shows what is on disk.
"""

from __future__ import annotations

import random
import time

from confluent_kafka import Consumer, Producer, TopicPartition

from moldau.testing.local_cluster import LocalCluster

RECORDS = 500_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
DRAWS = random.Random(7)
LINES = [b'{"order": %d, "customer": "c%d", "amount": %.6f}' % (n, n % 97, DRAWS.random()) for n in range(1000)]


def main() -> None:
    started = time.perf_counter()
    with LocalCluster() as cluster:
        took_ms = (time.perf_counter() - started) * 1000
        print(f"a broker listens on {cluster.bootstrap_servers}, {took_ms:.0f} ms after it was asked for")
        for codec in CODECS:
            cluster.create_topic(topic_of(codec))
            produce(cluster, codec)
        print("the broker is stopped and started again, with everything it had")
        cluster.restart()
        for codec in CODECS:
            consume(cluster, codec)
    print("that is all; `moldau serve` runs the same broker for everybody")


def topic_of(codec: str) -> str:
    return f"orders-{codec}"


def produce(cluster: LocalCluster, codec: str) -> None:
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 5, "queue.buffering.max.messages": RECORDS}
    producer = Producer({**settings, "compression.type": codec, "enable.idempotence": True})
    topic = topic_of(codec)
    failures: list[object] = []

    def delivered(error: object, _message: object) -> None:
        if error is not None:
            failures.append(error)

    started = time.perf_counter()
    for n in range(RECORDS):
        producer.produce(topic, LINES[n % len(LINES)], on_delivery=delivered)
        if n % 10_000 == 0:
            producer.poll(0)
    left = producer.flush(120)
    seconds = time.perf_counter() - started
    assert not left, f"{left} records were not delivered"
    assert not failures, failures[:3]
    size_bytes = cluster.run_in_loop(lambda node: node.replicas.log((topic, 0)).size_bytes)
    rate = RECORDS / seconds / 1e6
    print(f"  {codec:>6}: {RECORDS:,} records produced, {rate:.2f} million a second, {size_bytes / 1e6:.0f} MB on disk")


def consume(cluster: LocalCluster, codec: str) -> None:
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "demo", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(topic_of(codec), 0, 0)])
    count, started = 0, time.perf_counter()
    while count < RECORDS:
        messages = consumer.consume(100_000, 30.0)
        assert messages, f"only {count} of {RECORDS} records came"
        for message in messages:
            assert not message.error(), message.error()
        assert messages[-1].value() == LINES[(count + len(messages) - 1) % len(LINES)]
        count += len(messages)
    rate = RECORDS / (time.perf_counter() - started) / 1e6
    consumer.close()
    print(f"  {codec:>6}: {count:,} records consumed, {rate:.2f} million a second")


if __name__ == "__main__":
    main()
