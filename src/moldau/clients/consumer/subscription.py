"""What a consumer was told to read, and what it reads.

Three ways exclude each other: topics by name, topics by pattern (both with a group that assigns partitions), or
partitions by hand. A call replaces what was there before; with a group it takes effect in the next poll.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from enum import Enum, auto

from moldau.clients.consumer.listener import RebalanceListener
from moldau.clients.consumer.offset_reset import ResetPolicy
from moldau.clients.consumer.positions import FetchPosition, FetchState, PartitionState
from moldau.clients.errors import IllegalState
from moldau.clients.network.metadata import ClusterMetadata
from moldau.clients.records import TopicPartition


class SubscriptionKind(Enum):
    NONE = auto()
    TOPICS = auto()
    PATTERN = auto()
    BY_HAND = auto()


class SubscriptionState:
    """`partitions` are those assigned; `default_reset` is where one without a position begins."""

    def __init__(self, default_reset: ResetPolicy) -> None:
        self.kind = SubscriptionKind.NONE
        self.topics: frozenset[str] = frozenset()
        self.pattern: re.Pattern[str] | None = None
        self.listener = RebalanceListener()
        self.partitions: dict[TopicPartition, PartitionState] = {}
        self.default_reset = default_reset

    # -- what was told

    @property
    def by_group(self) -> bool:
        return self.kind in (SubscriptionKind.TOPICS, SubscriptionKind.PATTERN)

    def subscribe(self, topics: Iterable[str], listener: RebalanceListener) -> None:
        self._become(SubscriptionKind.TOPICS)
        self.topics = frozenset(topics)
        self.listener = listener

    def subscribe_pattern(self, pattern: re.Pattern[str], listener: RebalanceListener) -> None:
        self._become(SubscriptionKind.PATTERN)
        self.pattern = pattern
        self.listener = listener

    def match(self, metadata: ClusterMetadata, *, exclude_internal: bool) -> bool:
        """Look which topics the pattern means now; whether that has changed."""
        assert self.pattern is not None
        matching = frozenset(
            name
            for name, topic in metadata.topics.items()
            if self.pattern.search(name) and topic.partitions and not (exclude_internal and topic.is_internal)
        )
        changed, self.topics = matching != self.topics, matching
        return changed

    def assign_by_hand(self, partitions: Iterable[TopicPartition]) -> None:
        self._become(SubscriptionKind.BY_HAND)
        self.assign(partitions)

    def unsubscribe(self) -> None:
        self.kind = SubscriptionKind.NONE
        self.topics = frozenset()
        self.pattern = None
        self.partitions = {}

    def _become(self, kind: SubscriptionKind) -> None:
        if self.kind not in (kind, SubscriptionKind.NONE):
            raise IllegalState(
                "subscription to topics, partitions and pattern are mutually exclusive; unsubscribe() comes first"
            )
        self.kind = kind

    # -- what is read

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """The partitions to read from now on; those that were read before keep their positions."""
        self.partitions = {each: self.partitions.get(each) or PartitionState() for each in partitions}

    def take_away(self, partitions: Collection[TopicPartition]) -> None:
        self.partitions = {each: state for each, state in self.partitions.items() if each not in partitions}

    def state(self, partition: TopicPartition) -> PartitionState:
        state = self.partitions.get(partition)
        if state is None:
            raise IllegalState(f"no current assignment for partition {partition}")
        return state

    def seek(self, partition: TopicPartition, position: FetchPosition) -> None:
        self.state(partition).seek(position)

    def in_state(self, wanted: FetchState) -> dict[TopicPartition, PartitionState]:
        return {each: state for each, state in self.partitions.items() if state.state is wanted}

    def leaders_are(self, metadata: ClusterMetadata) -> None:
        """Look whether partitions have got new leaders."""
        for partition, state in self.partitions.items():
            known = metadata.leader(partition)
            if known is not None:
                state.leader_is(known.leader_epoch)
