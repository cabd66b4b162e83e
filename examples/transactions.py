"""Read, process, write, exactly once: the results and the offsets of what they were made of are committed together.

The second transaction is aborted on purpose: readers of committed records see nothing of it, and what it had read is
read again.
"""

from __future__ import annotations

import sys

from moldau import Consumer, OffsetAndMetadata, Producer, TopicPartition
from moldau.base.errors import ApiError
from moldau.clients.consumer.consumer_record import ConsumerRecord
from moldau.clients.errors import ProducerFenced

INPUT, OUTPUT = "transactions-in", "transactions-out"


def process(producer: Producer, consumer: Consumer, records: list[ConsumerRecord], *, fails: bool) -> None:
    producer.begin_transaction()
    try:
        for record in records:
            producer.send(OUTPUT, record.value.upper())
        ends = {TopicPartition(each.topic, each.partition): OffsetAndMetadata(each.offset + 1) for each in records}
        producer.send_offsets_to_transaction(ends, consumer.group_metadata())
        if fails:
            producer.abort_transaction()
        else:
            producer.commit_transaction()
    except ProducerFenced:
        raise  # another one has taken over this transactional id: there is nothing left to do but close
    except ApiError:
        producer.abort_transaction()
        raise


def read_committed(bootstrap_servers: str) -> list[bytes]:
    with Consumer(bootstrap_servers=bootstrap_servers, isolation_level="read_committed") as consumer:
        output = TopicPartition(OUTPUT, 0)
        consumer.assign([output])
        consumer.seek_to_beginning()
        end = consumer.end_offsets([output])[output]
        values: list[bytes] = []
        while consumer.position(output) < end:
            values += [record.value for record in consumer.poll(1.0)]
        return values


def main(bootstrap_servers: str = "localhost:9092") -> None:
    settings = {"enable.auto.commit": False, "auto.offset.reset": "earliest", "group.id": "in-to-out"}
    with (
        Producer(bootstrap_servers=bootstrap_servers, transactional_id="upper-case") as producer,
        Consumer(settings, bootstrap_servers=bootstrap_servers, max_poll_records=3) as consumer,
    ):
        producer.init_transactions()
        for number in range(6):
            producer.begin_transaction()
            producer.send(INPUT, b"record %d" % number)
            producer.commit_transaction()
        consumer.subscribe([INPUT])
        for fails in (False, True, False):
            process(producer, consumer, take(consumer), fails=fails)
            if fails:
                go_back(consumer)
            values = [value.decode() for value in read_committed(bootstrap_servers)]
            print(f"{'aborted' if fails else 'committed'}: {values}")


def go_back(consumer: Consumer) -> None:
    """What an aborted transaction had read is to be read again."""
    for partition, committed in consumer.committed(consumer.assignment()).items():
        consumer.seek(partition, committed or 0)


def take(consumer: Consumer) -> list[ConsumerRecord]:
    while not (records := consumer.poll(1.0)):
        pass
    return records


if __name__ == "__main__":
    main(*sys.argv[1:])
