"""The follower's end of an incremental fetch session (KIP-227): say only what has changed since the last request.

What the leader knows is written down when a request is made, not when it is answered: one that gets no answer, or an
error as its answer, ends the session, and the next request says everything again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from moldau.base.error_codes import ErrorCode
from moldau.protocol.messages.fetch import FetchPartition, FetchResponse, FetchTopic, ForgottenTopic
from moldau.protocol.schema import ZERO_UUID
from moldau.replication.fetch_session import INITIAL_EPOCH, NO_SESSION_ID, next_epoch
from moldau.replication.followers.followed_partition import FollowedPartition
from moldau.storage.log_directory import TopicPartition


class Asked(NamedTuple):
    """What the leader was told of a partition last."""

    partition: FollowedPartition
    request: FetchPartition
    topic_id: bytes


class LeaderSession:
    """What one leader knows of one fetcher's partitions; `id` and `epoch` are those of the next request."""

    def __init__(self) -> None:
        self.id = NO_SESSION_ID
        self.epoch = INITIAL_EPOCH
        self.known: dict[TopicPartition, Asked] = {}
        self._names: dict[bytes, str] = {}

    @property
    def is_full(self) -> bool:
        """Whether the next request has to say everything."""
        return self.epoch == INITIAL_EPOCH

    @property
    def uses_topic_ids(self) -> bool:
        """Topics go by id if all of them have one."""
        return ZERO_UUID not in self._names

    def begin_anew(self) -> None:
        """Say everything in the next request; the leader then closes the session that it may still have."""
        self.epoch = INITIAL_EPOCH

    def tell(
        self, asking: Iterable[Asked], leaving: Iterable[TopicPartition]
    ) -> tuple[list[FetchTopic], list[ForgottenTopic]]:
        """What to put into the next request: partitions that are new or asked differently, and those to forget."""
        if self.is_full:
            self.known.clear()
            self._names.clear()
        topics: dict[str, FetchTopic] = {}
        forgotten: dict[tuple[str, bytes], ForgottenTopic] = {}
        known = self.known
        for key in leaving:
            if (left := known.pop(key, None)) is not None:
                _forget(forgotten, key, left.topic_id)
        for asked in asking:
            key = asked.partition.key
            before = known.get(key)
            if before is not None and before.topic_id != asked.topic_id:
                _forget(forgotten, key, before.topic_id)
            known[key] = asked
            self._names[asked.topic_id] = key[0]
            topic = topics.get(key[0])
            if topic is None:
                topic = topics[key[0]] = FetchTopic(topic=key[0], topic_id=asked.topic_id)
            topic.partitions.append(asked.request)
        return list(topics.values()), list(forgotten.values())

    def key_of(self, topic: str, topic_id: bytes, partition: int) -> TopicPartition:
        """The partition that an answer speaks of, by name or by id."""
        return topic or self._names.get(topic_id, ""), partition

    def hear(self, response: FetchResponse) -> bool:
        """Take note of an answer; False if nothing in it counts, and the session begins anew."""
        if response.error_code:
            if response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self.id = NO_SESSION_ID
            self.begin_anew()
            return False
        if response.session_id == NO_SESSION_ID:  # the leader has no room for one
            self.id = NO_SESSION_ID
            self.begin_anew()
        elif self.is_full:
            self.id, self.epoch = response.session_id, next_epoch(INITIAL_EPOCH)
        else:
            self.epoch = next_epoch(self.epoch)
        return True


def _forget(forgotten: dict[tuple[str, bytes], ForgottenTopic], key: TopicPartition, topic_id: bytes) -> None:
    topic, partition = key
    left = forgotten.setdefault((topic, topic_id), ForgottenTopic(topic=topic, topic_id=topic_id))
    left.partitions.append(partition)
