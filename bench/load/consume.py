"""confluent-kafka reads one partition from its beginning, by assignment, with the client's own settings but for one.

`fetch.queue.backoff.ms` is 1 and not 1,000: by default librdkafka fetches nothing for a second whenever 100,000
records or 64 MB are waiting for the application, so that any broker is as fast as any other. The clock runs from the
first record that the application gets to the last one.
"""

from __future__ import annotations

import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from bench.load.program import Figures, answer

PARTITION = 0
WAIT_S_MAX = 60
AT_ONCE = 10_000


def consume(bootstrap: str, topic: str, records: int, record_bytes: int) -> Figures:
    settings = {"group.id": "bench", "enable.auto.commit": False, "fetch.queue.backoff.ms": 1}
    consumer = Consumer({"bootstrap.servers": bootstrap, **settings})
    consumer.assign([TopicPartition(topic, PARTITION, OFFSET_BEGINNING)])
    received = received_bytes = 0
    last_offset = -1
    started_s = 0.0
    while received < records:
        wanted = min(AT_ONCE, records - received) if received else 1
        messages = consumer.consume(wanted, timeout=WAIT_S_MAX)  # returns when so many are there
        assert len(messages) == wanted, f"{received + len(messages)} of {records} records arrived"
        started_s = started_s or time.perf_counter()
        for message in messages:
            assert message.error() is None, message.error()
            received_bytes += len(message)
        received += wanted
        last_offset = messages[-1].offset()
    took_s = time.perf_counter() - started_s
    consumer.close()
    assert (received_bytes, last_offset) == (records * record_bytes, records - 1)
    return {"records_per_s": records / took_s, "mb_per_s": received_bytes / took_s / 1e6}


if __name__ == "__main__":
    answer(consume)
