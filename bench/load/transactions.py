"""confluent-kafka in small transactions: begin, one record, commit; so many producers, one after the other in each.

Every producer has a partition of its own. At the end each partition has a record and a marker for every transaction.
"""

from __future__ import annotations

import time
import uuid
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.load.program import Figures, answer
from bench.load.threads import together

ANSWER_S_MAX = 30
RECORD_BYTES = 100
OFFSETS_EACH = 2  # of a transaction: its record and its marker
POLL_S = 0.01


def transactions(bootstrap: str, topic: str, producers: int, seconds: float) -> Figures:
    clients = [Transactions(bootstrap, topic, at) for at in range(producers)]
    ends = [client.log_end_offset() for client in clients]
    together(Transactions.begin, clients)
    started_s = time.perf_counter()
    counts = together(lambda client: client.run_until(started_s + seconds), clients)
    took_s = time.perf_counter() - started_s
    for client, end, count in zip(clients, ends, counts, strict=True):
        client.check(end + OFFSETS_EACH * (1 + count))
    return {"transactions_per_s": sum(counts) / took_s}


class Transactions:
    """A producer and its partition."""

    def __init__(self, bootstrap: str, topic: str, partition: int) -> None:
        self._topic, self._partition = topic, partition
        self._value = bytes(RECORD_BYTES)
        settings = {"bootstrap.servers": bootstrap, "log_level": 3}
        transactional_id = f"{topic}-{partition}-{uuid.uuid4()}"
        self._producer: Any = Producer({**settings, "transactional.id": transactional_id, "linger.ms": 0})
        self._consumer = Consumer({**settings, "group.id": "bench"})

    def begin(self) -> None:
        """Everything that is needed once, and one transaction."""
        self._producer.init_transactions(ANSWER_S_MAX)
        self._one()

    def run_until(self, until_s: float) -> int:
        count = 0
        while time.perf_counter() < until_s:
            self._one()
            count += 1
        return count

    def _one(self) -> None:
        self._producer.begin_transaction()
        self._producer.produce(self._topic, self._value, partition=self._partition)
        self._producer.commit_transaction(ANSWER_S_MAX)

    def log_end_offset(self) -> int:
        _low, high = self._consumer.get_watermark_offsets(TopicPartition(self._topic, self._partition), ANSWER_S_MAX)
        return int(high)

    def check(self, log_end_offset: int) -> None:
        """Markers may be written a little after the answer."""
        deadline_s = time.monotonic() + ANSWER_S_MAX
        while (found := self.log_end_offset()) != log_end_offset:
            assert found < log_end_offset, (found, log_end_offset)
            assert time.monotonic() < deadline_s, (found, log_end_offset)
            time.sleep(POLL_S)
        self._consumer.close()


if __name__ == "__main__":
    answer(transactions)
