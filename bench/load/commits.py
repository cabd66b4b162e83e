"""confluent-kafka commits offsets: so many consumers, each a group of its own, one synchronous commit after the other.

A commit is of one partition. Afterwards every group is asked for its offset, which has to be that of its last commit.
"""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from bench.load.program import Figures, answer
from bench.load.threads import together

ANSWER_S_MAX = 30
PARTITION = 0


def commits(bootstrap: str, topic: str, consumers: int, seconds: float) -> Figures:
    clients = [Consumer({"bootstrap.servers": bootstrap, "group.id": f"{topic}-{at}"}) for at in range(consumers)]
    for client in clients:
        commit(client, topic, 1)
    started_s = time.perf_counter()
    last = together(lambda client: commit_for(client, topic, started_s + seconds), clients)
    took_s = time.perf_counter() - started_s
    for client, offset in zip(clients, last, strict=True):
        (found,) = client.committed([TopicPartition(topic, PARTITION)], timeout=ANSWER_S_MAX)
        assert found.offset == offset, (found.offset, offset)
        client.close()
    return {"commits_per_s": (sum(last) - len(last)) / took_s}


def commit_for(client: Any, topic: str, until_s: float) -> int:
    """Commit 2, 3, 4 … until it is time; the last."""
    offset = 1
    while time.perf_counter() < until_s:
        offset += 1
        commit(client, topic, offset)
    return offset


def commit(client: Any, topic: str, offset: int) -> None:
    (done,) = client.commit(offsets=[TopicPartition(topic, PARTITION, offset)], asynchronous=False)
    assert done.error is None, done.error


if __name__ == "__main__":
    answer(commits)
