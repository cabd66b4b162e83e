"""Incremental fetches against full ones: after any history the client knows what a full fetch would have told it."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic, PartitionData
from moldau.replication.fetch_session_cache import FetchSessionCache, FetchSessions

TopicPartition = tuple[str, int]
State = tuple[int, int, int, int]  # high watermark, last stable offset, log start offset, error

PARTITIONS = st.tuples(st.sampled_from("ab"), st.integers(0, 1))
STATES = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2), st.sampled_from([0, 0, 0, 56]))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("change"), PARTITIONS, STATES),
        st.tuples(st.just("fail or heal"), PARTITIONS, STATES),
        st.tuples(st.just("want"), PARTITIONS, STATES),
        st.tuples(st.just("drop"), PARTITIONS, STATES),
        *[st.tuples(st.just("fetch"), PARTITIONS, STATES)] * 3,
        st.tuples(st.just("lose"), PARTITIONS, STATES),
        st.tuples(st.just("crowd"), PARTITIONS, STATES),
    ),
    min_size=40,
    max_size=80,
)
TOPIC_IDS = {name: name.encode() * 16 for name in "abc"}
NAMES = {topic_id: name for name, topic_id in TOPIC_IDS.items()}


class Server:
    def __init__(self, version: int) -> None:
        self.version = version
        self.sessions = FetchSessions(FetchSessionCache(2, Random(3)))
        self.states: dict[TopicPartition, State] = {}
        self.now_ms = 0
        self.read: dict[TopicPartition, int] = {}  # from which offsets, by the last fetch

    def state(self, partition: TopicPartition) -> State:
        return self.states.get(partition, (0, 0, 0, 0))

    def fetch(self, request: FetchRequest) -> tuple[int, int, dict[TopicPartition, State]]:
        self.now_ms += 30_000
        context = self.sessions.context(request, self.version, NAMES, is_follower=False, now_ms=self.now_ms)
        results = []
        self.read = {}
        for asked in context.partitions():
            assert asked.topic is not None
            self.read[asked.topic, asked.request.partition] = asked.request.fetch_offset
            high_watermark, stable, start, error = self.state((asked.topic, asked.request.partition))
            data = PartitionData(
                partition_index=asked.request.partition,
                high_watermark=high_watermark,
                last_stable_offset=stable,
                log_start_offset=start,
                error_code=error,
            )
            if high_watermark > asked.request.fetch_offset and not error:
                data.records = b"x"
            results.append((asked, data))
        response = context.respond(results, self.now_ms)
        told = {
            (NAMES.get(topic.topic_id, topic.topic), data.partition_index): (
                data.high_watermark,
                data.last_stable_offset,
                data.log_start_offset,
                data.error_code,
            )
            for topic in response.responses
            for data in topic.partitions
        }
        return response.error_code, response.session_id, told


class Client:
    """A naive client: keeps the set it wants, sends differences, and merges what it is told."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.wanted: dict[TopicPartition, None] = {}
        self.view: dict[TopicPartition, State] = {}
        self.sent: dict[TopicPartition, int] = {}  # with the fetch offset
        self.session_id = 0
        self.epoch = 0

    def fetch(self) -> None:
        offsets = {partition: self.view.get(partition, (0, 0, 0, 0))[0] for partition in self.wanted}
        is_full = self.epoch == 0
        listed = [one for one, offset in offsets.items() if is_full or self.sent.get(one) != offset]
        forgotten = [] if is_full else [one for one in self.sent if one not in offsets]
        request = FetchRequest(
            session_id=self.session_id,
            session_epoch=self.epoch,
            topics=[self.topic(name, number, offsets[name, number]) for name, number in listed],
            forgotten_topics_data=[
                ForgottenTopic(topic=name, topic_id=self.topic_id(name), partitions=[number])
                for name, number in forgotten
            ],
        )
        error, session_id, told = self.server.fetch(request)
        if error:
            assert error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
            assert not is_full
            self.session_id = self.epoch = 0
            self.fetch()
            return
        assert self.server.read == offsets
        assert not is_full or told.keys() == offsets.keys()
        self.view = {one: state for one, state in self.view.items() if one in offsets} | told
        self.sent = offsets
        self.epoch = self.epoch + 1 if session_id else 0
        self.session_id = session_id

    def topic_id(self, name: str) -> bytes:
        return TOPIC_IDS[name] if self.server.version >= 13 else bytes(16)

    def topic(self, name: str, number: int, offset: int) -> FetchTopic:
        partition = FetchPartition(partition=number, fetch_offset=offset)
        return FetchTopic(topic=name, topic_id=self.topic_id(name), partitions=[partition])


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(STEPS, st.sampled_from([12, 13]))
def test_the_view_of_a_session_equals_a_full_fetch(
    steps: list[tuple[str, TopicPartition, State]], version: int
) -> None:
    server = Server(version)
    client = Client(server)
    for kind, partition, state in steps:
        if kind == "change":
            server.states[partition] = state
        elif kind == "fail or heal":
            *offsets, error = server.state(partition)
            server.states[partition] = (offsets[0], offsets[1], offsets[2], 0 if error else 56)
        elif kind == "want":
            client.wanted[partition] = None
        elif kind == "drop":
            client.wanted.pop(partition, None)
        elif kind == "lose":
            server.sessions.cache.remove(client.session_id)
        elif kind == "crowd":
            client_of_others = Client(server)
            client_of_others.wanted = {("a", number): None for number in range(4)}
            client_of_others.fetch()
        else:
            client.fetch()
            assert client.view == {one: server.state(one) for one in client.wanted}
            cache = server.sessions.cache
            assert len(cache) <= 2
            sizes = [len(session.partitions) for session in cache._sessions.values()]
            assert cache.partitions_count == sum(sizes)
