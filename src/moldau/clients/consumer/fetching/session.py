"""The client's end of a fetch session: only what has changed is sent (KIP-227).

    (0, 0)   full: all partitions, and a session if the broker has room for one
    (id, n)  incremental: partitions that are new or changed, and those to forget; n counts up from 1
    (id, 0)  full again, in place of the session, after anything went wrong
    (id, -1) the end

The answer to an incremental fetch leaves out partitions about which there is nothing new.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from moldau.base.error_codes import ErrorCode
from moldau.clients.records import TopicPartition
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic
from moldau.protocol.schema import ZERO_UUID, Uuid

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
_EPOCH_MAX = 2**31 - 1


class Wanted(NamedTuple):
    """What a fetch asks of one partition."""

    topic_id: Uuid
    offset: int
    leader_epoch: int
    max_bytes: int


class FetchSession:
    """One broker's session. `ask` and `answered` or `failed` come in turn."""

    def __init__(self) -> None:
        self._id = NO_SESSION
        self._epoch = INITIAL_EPOCH
        self._partitions: dict[TopicPartition, Wanted] = {}

    @property
    def with_topic_ids(self) -> bool:
        """Whether all topics are known by id, as newer versions of Fetch need it."""
        return all(wanted.topic_id != ZERO_UUID for wanted in self._partitions.values())

    def ask(self, request: FetchRequest, partitions: Mapping[TopicPartition, Wanted]) -> None:
        """Fill in what the broker has to be told to fetch exactly these partitions."""
        before = self._partitions
        if any(each in before and before[each].topic_id != wanted.topic_id for each, wanted in partitions.items()):
            self._epoch = INITIAL_EPOCH  # a topic was made anew: say everything anew
        request.session_id, request.session_epoch = self._id, self._epoch
        self._partitions = dict(partitions)
        if self._epoch == INITIAL_EPOCH:
            request.topics = _topics(partitions)
            return
        request.topics = _topics({each: wanted for each, wanted in partitions.items() if before.get(each) != wanted})
        forgotten: dict[tuple[str, Uuid], list[int]] = {}
        for each, wanted in before.items():
            if each not in partitions:
                forgotten.setdefault((each.topic, wanted.topic_id), []).append(each.partition)
        request.forgotten_topics_data = [
            ForgottenTopic(topic=topic, topic_id=topic_id, partitions=numbers)
            for (topic, topic_id), numbers in forgotten.items()
        ]

    def answered(self, answer: FetchResponse) -> bool:
        """Whether the answer can be used; if not, the next fetch starts anew."""
        if answer.error_code:
            self._epoch = INITIAL_EPOCH
            if answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self._id = NO_SESSION
            return False
        if answer.session_id == NO_SESSION:
            self._id, self._epoch = NO_SESSION, INITIAL_EPOCH
        else:
            self._id = answer.session_id
            self._epoch = self._epoch % _EPOCH_MAX + 1
        return True

    def failed(self) -> None:
        """No answer came: whether the broker has counted the request is not known."""
        self._epoch = INITIAL_EPOCH

    def topic_names(self) -> dict[Uuid, str]:
        return {wanted.topic_id: each.topic for each, wanted in self._partitions.items()}

    def end(self) -> FetchRequest | None:
        """The request that ends the session, if there is one."""
        if self._id == NO_SESSION:
            return None
        return FetchRequest(session_id=self._id, session_epoch=FINAL_EPOCH)


def _topics(partitions: Mapping[TopicPartition, Wanted]) -> list[FetchTopic]:
    topics: dict[tuple[str, Uuid], FetchTopic] = {}
    for (name, number), wanted in partitions.items():
        topic = topics.get((name, wanted.topic_id))
        if topic is None:
            topic = topics[name, wanted.topic_id] = FetchTopic(topic=name, topic_id=wanted.topic_id, partitions=[])
        topic.partitions.append(
            FetchPartition(
                partition=number,
                current_leader_epoch=wanted.leader_epoch,
                fetch_offset=wanted.offset,
                partition_max_bytes=wanted.max_bytes,
            )
        )
    return list(topics.values())
