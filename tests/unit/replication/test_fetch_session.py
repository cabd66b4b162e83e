"""Fetch sessions (KIP-227): what requests mean and which partitions answers list."""

from __future__ import annotations

from random import Random

import pytest

from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.fetch import (
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from moldau.replication.fetch_session import EPOCH_MAX, FetchContext, next_epoch
from moldau.replication.fetch_session_cache import FetchSessionCache, FetchSessions

NAMES = {b"A" * 16: "a", b"B" * 16: "b"}
BY_NAME, BY_ID = 12, 13


class Server:
    """Answers each partition with what is in `data`."""

    def __init__(self, slots: int = 10) -> None:
        self.cache = FetchSessionCache(slots, Random(1))
        self.sessions = FetchSessions(self.cache)
        self.names = dict(NAMES)
        self.data: dict[int, PartitionData] = {}
        self.read: list[int] = []
        self.now_ms = 0

    def context(self, request: FetchRequest, version: int = BY_NAME) -> FetchContext:
        return self.sessions.context(request, version, self.names, is_follower=False, now_ms=self.now_ms)

    def answer(self, context: FetchContext) -> FetchResponse:
        results = [(asked, self.data_of(asked.request.partition)) for asked in context.partitions()]
        self.read = [asked.request.partition for asked, _ in results]
        return context.respond(results, self.now_ms)

    def fetch(self, request: FetchRequest, version: int = BY_NAME) -> FetchResponse:
        return self.answer(self.context(request, version))

    def data_of(self, partition: int) -> PartitionData:
        return self.data.get(partition) or told(partition)


def told(
    partition: int, high_watermark: int = 5, log_start_offset: int = 0, last_stable_offset: int = 5
) -> PartitionData:
    return PartitionData(
        partition_index=partition,
        high_watermark=high_watermark,
        log_start_offset=log_start_offset,
        last_stable_offset=last_stable_offset,
    )


def asking(
    session_id: int, epoch: int, *partitions: int, forget: tuple[int, ...] = (), topic_id: bytes | None = None
) -> FetchRequest:
    asked = [FetchPartition(partition=partition) for partition in partitions]
    topic = (
        FetchTopic(topic="t", partitions=asked) if topic_id is None else FetchTopic(topic_id=topic_id, partitions=asked)
    )
    forgotten = ForgottenTopic(topic="t", partitions=list(forget))
    return FetchRequest(
        session_id=session_id,
        session_epoch=epoch,
        topics=[topic] if partitions else [],
        forgotten_topics_data=[forgotten] if forget else [],
    )


def listed(response: FetchResponse) -> list[int]:
    assert response.error_code == 0
    return [partition.partition_index for topic in response.responses for partition in topic.partitions]


def started(*partitions: int) -> tuple[Server, int]:
    server = Server()
    response = server.fetch(asking(0, 0, *partitions))
    assert listed(response) == list(partitions)
    assert response.session_id > 0
    return server, response.session_id


def test_epochs_wrap_to_one() -> None:
    assert [next_epoch(epoch) for epoch in (0, 1, EPOCH_MAX, -1)] == [1, 2, 1, -1]


def test_a_final_epoch_without_a_session_keeps_nothing() -> None:
    server = Server()
    response = server.fetch(asking(0, -1, 0, 1))
    assert (listed(response), response.session_id, len(server.cache)) == ([0, 1], 0, 0)


def test_nothing_new_is_an_empty_answer() -> None:
    server, session_id = started(0, 1, 2)
    for epoch in (1, 2, 3):
        response = server.fetch(asking(session_id, epoch))
        assert (listed(response), response.session_id) == ([], session_id)
        assert server.read == [0, 1, 2], "all of the session is read all the same"


@pytest.mark.parametrize(
    "news",
    [told(1, high_watermark=6), told(1, log_start_offset=1), told(1, last_stable_offset=4)],
    ids=["high watermark", "log start offset", "last stable offset"],
)
def test_offsets_that_moved_are_told_once(news: PartitionData) -> None:
    server, session_id = started(0, 1, 2)
    server.data[1] = news
    assert listed(server.fetch(asking(session_id, 1))) == [1]
    assert listed(server.fetch(asking(session_id, 2))) == []


def test_records_preferred_replicas_and_diverging_epochs_are_told_always() -> None:
    server, session_id = started(0, 1, 2, 3)
    server.data[0] = told(0)
    server.data[0].records = b"batch"
    server.data[1] = told(1)
    server.data[1].preferred_read_replica = 4
    server.data[2] = told(2)
    server.data[2].diverging_epoch = EpochEndOffset(epoch=1, end_offset=2)
    for epoch in (1, 2):
        assert sorted(listed(server.fetch(asking(session_id, epoch)))) == [0, 1, 2]


def test_an_error_is_told_always_and_its_end_as_well() -> None:
    server, session_id = started(0, 1)
    failing = told(1)
    failing.error_code = ErrorCode.KAFKA_STORAGE_ERROR
    server.data[1] = failing
    for epoch in (1, 2):
        assert listed(server.fetch(asking(session_id, epoch))) == [1]
    del server.data[1]
    assert listed(server.fetch(asking(session_id, 3))) == [1]
    assert listed(server.fetch(asking(session_id, 4))) == []


def test_partitions_with_records_go_to_the_end() -> None:
    server, session_id = started(0, 1, 2)
    server.data[0] = told(0)
    server.data[0].records = b"batch"
    server.fetch(asking(session_id, 1))
    server.data.clear()
    server.fetch(asking(session_id, 2))
    assert server.read == [1, 2, 0]


def test_partitions_are_added_changed_and_forgotten() -> None:
    server, session_id = started(0, 1)
    assert listed(server.fetch(asking(session_id, 1, 2, forget=(0,)))) == [2]
    assert server.read == [1, 2]
    changed = asking(session_id, 2, 1)
    changed.topics[0].partitions[0].fetch_offset = 77
    context = server.context(changed)
    assert [(asked.request.partition, asked.request.fetch_offset) for asked in context.partitions()] == [
        (1, 77),
        (2, 0),
    ]
    assert server.cache.partitions_count == 2


def test_the_context_of_an_incremental_fetch_is_a_view() -> None:
    server, session_id = started(*range(100))
    session = server.cache.get(session_id)
    assert session is not None
    context = server.context(asking(session_id, 1))
    first = next(iter(context.partitions()))
    assert first is next(iter(session.partitions.values()))


def test_a_session_without_partitions_is_closed() -> None:
    server, session_id = started(0, 1)
    response = server.fetch(asking(session_id, 1, forget=(0, 1)))
    assert (listed(response), response.session_id, len(server.cache)) == ([], 0, 0)


@pytest.mark.parametrize(("epoch", "sessions"), [(0, 1), (-1, 0)])
def test_a_full_fetch_closes_the_session_that_it_names(epoch: int, sessions: int) -> None:
    server, session_id = started(0, 1)
    response = server.fetch(asking(session_id, epoch, 5))
    assert listed(response) == [5]
    assert len(server.cache) == sessions
    assert server.cache.get(session_id) is None


@pytest.mark.parametrize("epoch", [2, 7, EPOCH_MAX])
def test_an_epoch_that_is_not_the_next_is_refused_and_not_used_up(epoch: int) -> None:
    server, session_id = started(0)
    context = server.context(asking(session_id, epoch, 1))
    assert context.error is ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert list(context.partitions()) == []
    assert server.answer(context).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert listed(server.fetch(asking(session_id, 1))) == []


def test_an_unknown_session_is_refused() -> None:
    response = Server().fetch(asking(77, 1))
    assert (response.error_code, response.session_id) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0)


def test_a_session_keeps_to_names_or_to_ids() -> None:
    server, session_id = started(0)
    assert server.fetch(asking(session_id, 1), BY_ID).error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    by_id = server.fetch(asking(0, 0, 0, topic_id=b"A" * 16), BY_ID).session_id
    assert server.fetch(asking(by_id, 1), BY_NAME).error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    assert listed(server.fetch(asking(by_id, 1), BY_ID)) == []


@pytest.mark.parametrize("topic_id", [b"C" * 16, bytes(16)])
def test_a_topic_id_that_becomes_known_gets_its_name(topic_id: bytes) -> None:
    server = Server()
    context = server.context(asking(0, 0, 0, topic_id=topic_id), BY_ID)
    assert [asked.topic for asked in context.partitions()] == [None]
    response = server.answer(context)
    assert (response.responses[0].topic_id, response.responses[0].topic) == (topic_id, "")
    context = server.context(asking(response.session_id, 1), BY_ID)
    server.names[topic_id] = "c"
    assert [asked.resolve(server.names) for asked in context.partitions()] == ["c"]


def test_an_answer_that_was_overtaken_is_an_error() -> None:
    server, session_id = started(0, 1)
    parked = server.context(asking(session_id, 1))
    server.fetch(asking(session_id, 2, forget=(0,)))
    response = server.answer(parked)
    assert (response.error_code, response.session_id) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, session_id)
    assert parked.throttled(9).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_an_answer_whose_session_was_emptied_is_an_error() -> None:
    server, session_id = started(0)
    server.data[0] = told(0)
    server.data[0].records = b"batch"
    parked = server.context(asking(session_id, 1))
    results = [(asked, server.data[0]) for asked in parked.partitions()]
    server.fetch(asking(session_id, 2, forget=(0,)))
    assert parked.respond(results, 0).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_throttled_answers_carry_no_data_and_tell_nothing() -> None:
    server, session_id = started(0)
    server.data[0] = told(0, high_watermark=9)
    response = server.context(asking(session_id, 1)).throttled(50)
    assert (listed(response), response.session_id, response.throttle_time_ms) == ([], session_id, 50)
    assert listed(server.fetch(asking(session_id, 2))) == [0]
    assert server.context(asking(0, 0, 0)).throttled(50).session_id == 0
    assert server.context(asking(77, 5)).throttled(50).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_answers_are_grouped_by_topic_in_the_order_of_reading() -> None:
    server = Server()
    topics = [
        FetchTopic(topic=name, partitions=[FetchPartition(partition=number)])
        for name, number in zip("aab", (0, 1, 0), strict=True)
    ]
    response = server.fetch(FetchRequest(session_id=0, session_epoch=-1, topics=topics))
    assert [(topic.topic, len(topic.partitions)) for topic in response.responses] == [("a", 2), ("b", 1)]


def test_a_partition_that_is_listed_twice_counts_once() -> None:
    server = Server()
    request = asking(0, 0, 3, 3)
    request.topics[0].partitions[1].fetch_offset = 9
    context = server.context(request)
    assert [asked.request.fetch_offset for asked in context.partitions()] == [9]
