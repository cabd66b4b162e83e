"""Commits that repeat are written and answered as the first were, until there is something else to say."""

from __future__ import annotations

import time
from typing import Any

import pytest

from moldau import Admin, Consumer, TopicPartition
from moldau.base.error_codes import ErrorCode
from moldau.broker.repeated_commit import _UNLIKELY, RepeatedCommit
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from moldau.testing.local_cluster import LocalCluster
from tests.broker.test_repeated_heartbeat import answer, ask
from tests.broker.test_repeated_produce import RawConnection, frame

GROUP = "g"


def commit(*offsets: int, generation: int = -1, metadata: str = "m") -> OffsetCommitRequest:
    """The offsets of the partitions of a topic, from 0 on."""
    partitions = [
        OffsetCommitRequestPartition(
            partition_index=index, committed_offset=offset, committed_leader_epoch=index, committed_metadata=metadata
        )
        for index, offset in enumerate(offsets)
    ]
    topics = [OffsetCommitRequestTopic(name="t", partitions=partitions)]
    return OffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=generation, topics=topics)


def commit_all(connection: RawConnection, version: int, *requests: OffsetCommitRequest) -> list[list[int]]:
    """The error codes of commits in one burst."""
    frames = [frame(request, version, 10 + number) for number, request in enumerate(requests)]
    answers = [
        answer(data, ApiKey.OFFSET_COMMIT, version, 10 + number)
        for number, data in enumerate(connection.exchange(frames))
    ]
    return [[one.error_code for one in found.topics[0].partitions] for found in answers]


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many requests were taken by each look."""
    looks: list[int] = []
    take = RepeatedCommit.__call__

    def watched(self: RepeatedCommit, *found: Any) -> tuple[bytes, int, int]:
        result = take(self, *found)
        looks.append(result[1])
        return result

    monkeypatch.setattr(RepeatedCommit, "__call__", watched)
    return looks


def connected(cluster: LocalCluster) -> RawConnection:
    connection = RawConnection(cluster)
    while ask(connection, FindCoordinatorRequest(key=GROUP)).error_code:
        time.sleep(0.05)
    return connection


def committed(cluster: LocalCluster, *partitions: TopicPartition) -> list[int | None]:
    with Consumer(bootstrap_servers=cluster.bootstrap_servers, group_id=GROUP) as consumer:
        found = consumer.committed(partitions)
    return [None if (one := found[each]) is None else one.offset for each in partitions]


@pytest.mark.parametrize("version", [5, 6, 9])
def test_every_commit_counts_and_survives(taken: list[int], version: int) -> None:
    both = TopicPartition("t", 0), TopicPartition("t", 1)
    with LocalCluster() as cluster:
        cluster.create_topic("t", 2)
        connection = connected(cluster)
        for start in range(1, 10):  # one after the other: what waits for its answer is never overtaken
            assert commit_all(connection, version, commit(start, 10 * start)) == [[0, 0]]
        assert sum(taken) == (7 if version >= 6 else 0)
        burst = [commit(start, 10 * start) for start in range(10, 20)]
        assert commit_all(connection, version, *burst) == [[0, 0]] * 10
        assert committed(cluster, *both) == [19, 190]
        connection.close()
        cluster.kill_broker(0)
        cluster.start_broker(0)
        assert committed(cluster, *both) == [19, 190]


def test_whatever_is_unusual_hears_what_it_heard_before(taken: list[int]) -> None:
    with LocalCluster() as cluster:
        cluster.create_topic("t", 1)
        connection = connected(cluster)
        for offset in range(4):
            assert commit_all(connection, 9, commit(offset)) == [[0]]
        assert sum(taken) == 2
        unknown = [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        assert commit_all(connection, 9, commit(5, 5)) == [[0, *unknown]]
        assert commit_all(connection, 9, commit(6, generation=3)) == [[ErrorCode.UNKNOWN_MEMBER_ID]]
        assert commit_all(connection, 9, commit(7), commit(8)) == [[0], [0]]
        assert committed(cluster, TopicPartition("t", 0)) == [8]
        with Admin(bootstrap_servers=cluster.bootstrap_servers) as admin:
            admin.delete_topics(["t"])
        assert commit_all(connection, 9, commit(9), commit(9)) == [unknown, unknown]
        connection.close()


def test_followers_are_waited_for(taken: list[int]) -> None:
    with LocalCluster({"offsets.topic.replication.factor": "2"}, brokers=2) as cluster:
        cluster.create_topic("t", 1)
        with Consumer(bootstrap_servers=cluster.bootstrap_servers, group_id=GROUP) as consumer:
            partition = TopicPartition("t", 0)
            consumer.assign([partition])
            for offset in range(5):
                consumer.commit({partition: offset})
        assert committed(cluster, partition) == [4]
        assert sum(taken) == 0


def test_a_text_with_the_bytes_of_the_mark_is_taken_the_general_way(taken: list[int]) -> None:
    mark = b"".join(number.to_bytes(size, "big") for number, size in zip(_UNLIKELY, (8, 4), strict=True)).decode()
    with LocalCluster() as cluster:
        cluster.create_topic("t", 1)
        connection = connected(cluster)
        for offset in range(4):
            assert commit_all(connection, 9, commit(offset, metadata=mark)) == [[0]]
        assert taken == []
        connection.close()
