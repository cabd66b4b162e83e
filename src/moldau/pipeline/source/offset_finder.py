"""What a cluster is asked for before anything is read: which partitions there are, and where their logs begin and end.

The end of a log is its high watermark, and with `isolation.level=read_committed` its last stable offset.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import Final

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, MoldauError
from moldau.clients.consumer.offset_lookup import OffsetLookup
from moldau.clients.network.cluster import Cluster
from moldau.clients.network.metadata import ClusterMetadata
from moldau.clients.records import TopicPartition
from moldau.pipeline.options import OptionError
from moldau.pipeline.source.bounds import Bound, Kind
from moldau.pipeline.source.offsets import EARLIEST, LATEST, PartitionOffsets
from moldau.pipeline.source.source_options import SourceOptions

logger = logging.getLogger(__name__)

# After this time who asks for offsets had better look whether the partitions are still there.
LOOKUP_MS_MAX: Final = 10_000
_ABSENT: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})


class MissingPartitions(MoldauError):
    """Topics or partitions that an option names are not there; `found` are those that are."""

    def __init__(self, message: str, found: list[TopicPartition]) -> None:
        super().__init__(message)
        self.found = found

    def at_start(self) -> OptionError:
        """The same for who has not read from them yet: nothing was lost, but a name or a topic is missing."""
        return OptionError(f"{self}. Create what is missing with kafka-topics --create, or correct the option")


class OffsetFinder:
    """Questions to one cluster about what a subscription means there. To be used in the link's loop."""

    def __init__(self, cluster: Cluster, options: SourceOptions) -> None:
        self._cluster = cluster
        self._options = options
        self._lookup = OffsetLookup(cluster)
        self._timeout_ms = cluster.config.integer("default.api.timeout.ms")
        self._lookup_ms = min(self._timeout_ms, LOOKUP_MS_MAX)

    # -- partitions

    async def partitions(self, known: Iterable[TopicPartition] = ()) -> list[TopicPartition]:
        """Those that are there now, in order; raises MissingPartitions if some that are named are not.

        What is named, or was `known` before, and is not there is asked for again: brokers hear of topics at different
        times, and one that has only just started has heard of none.
        """
        subscription = self._options.subscription
        expected = set(known)
        found: list[TopicPartition] = []
        missing: list[str] = []
        for attempt in range(self._options.attempts):
            if attempt:
                await asyncio.sleep(self._options.retry_interval_ms / 1000)
            found, missing = self._assigned(await self._metadata())
            if not missing and expected.issubset(found):
                return found
        if missing:
            raise MissingPartitions(
                f"{subscription}: there is no {', '.join(missing)} in the cluster at {self._options.servers}", found
            )
        return found

    async def _metadata(self) -> ClusterMetadata:
        """What is known now of the topics, none of which is in between."""
        subscription = self._options.subscription
        self._cluster.watch_all_topics(bool(subscription.pattern))
        if not subscription.pattern:
            self._cluster.set_topics(subscription.named_topics)

        async def attempt() -> ClusterMetadata:
            metadata = await self._cluster.update(self._timeout_ms)
            for name, topic in metadata.topics.items():
                is_ours = subscription.matches(name) if subscription.pattern else name in subscription.named_topics
                if is_ours and topic.error is not ErrorCode.NONE and topic.error not in _ABSENT:
                    raise ApiError(topic.error, f"topic {name}")
            return metadata

        return await self._cluster.retrying(attempt, timeout_ms=self._timeout_ms, what="finding topics")

    def _assigned(self, metadata: ClusterMetadata) -> tuple[list[TopicPartition], list[str]]:
        """The partitions that are there, and what is named and is not."""
        subscription = self._options.subscription
        if subscription.pattern:
            names = [name for name, topic in metadata.topics.items() if not topic.is_internal]
            return _partitions_of(metadata, filter(subscription.matches, names)), []
        there = _partitions_of(metadata, subscription.named_topics)
        missing = [name for name in subscription.named_topics if not metadata.partitions(name)]
        if not subscription.partitions:
            return there, missing
        missing += [str(each) for each in subscription.partitions if each not in there and each.topic not in missing]
        return [each for each in there if each in subscription.partitions], missing

    # -- offsets

    async def earliest(self, partitions: Iterable[TopicPartition]) -> PartitionOffsets:
        return await self._ends(dict.fromkeys(partitions, EARLIEST))

    async def latest(
        self, partitions: Iterable[TopicPartition], known: Mapping[TopicPartition, int] | None = None
    ) -> PartitionOffsets:
        """The ends; one that lies before what was read already is doubted and asked for again (KAFKA-7703)."""
        wanted = dict.fromkeys(partitions, LATEST)
        known = known or {}
        for attempt in range(1, self._options.attempts + 1):
            ends = await self._ends(wanted)
            behind = {each: (known[each], end) for each, end in ends.items() if end < known.get(each, 0)}
            if not behind or attempt == self._options.attempts:
                return ends
            logger.warning("Logs that end before what was read of them, asked again: %s", behind)
            await asyncio.sleep(self._options.retry_interval_ms / 1000)
        raise AssertionError("there is at least one attempt")

    async def resolve(self, bound: Bound, partitions: list[TopicPartition]) -> PartitionOffsets:
        """What an option means in offsets."""
        if bound.kind is Kind.EARLIEST:
            return await self.earliest(partitions)
        if bound.kind is Kind.LATEST:
            return await self.latest(partitions)
        if bound.kind is not Kind.TIME and set(bound.by_partition) != set(partitions):
            raise OptionError(
                f"{bound}: it has to name all partitions that are read, and no others "
                f"(-1 is latest, -2 earliest). Read are {', '.join(map(str, partitions)) or 'none'}"
            )
        if bound.kind is Kind.OFFSETS:
            offsets = dict(bound.by_partition)
            ends = {each: offset for each, offset in offsets.items() if offset < 0}
            return offsets | (await self._ends(ends) if ends else {})
        return await self._at_times(bound, partitions)

    async def at_or_after(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        """For each partition the first offset whose record is of that time or later; None if there is none."""
        if not times:
            return {}
        found = await self._lookup.by_time(times, self._lookup_ms)
        return {each: None if at is None else at.offset for each, at in found.items()}

    async def _at_times(self, bound: Bound, partitions: list[TopicPartition]) -> PartitionOffsets:
        times = bound.times_of(partitions)
        found = await self.at_or_after(times)
        none = [each for each, offset in found.items() if offset is None]
        if none and not bound.latest_if_none:
            raise OptionError(
                f"{bound}: no offset matched from request of {none[0]} and timestamp {times[none[0]]}. To begin at "
                "the end of such partitions, set startingOffsetsByTimestampStrategy to 'latest'"
            )
        offsets = {each: offset for each, offset in found.items() if offset is not None}
        return offsets | (await self.latest(none) if none else {})

    async def _ends(self, wanted: Mapping[TopicPartition, int]) -> PartitionOffsets:
        if not wanted:
            return {}
        found = await self._lookup.by_time(wanted, self._lookup_ms)
        offsets = {each: at.offset for each, at in found.items() if at is not None}
        unknown = [each for each in wanted if each not in offsets]
        if unknown:
            raise ApiError(ErrorCode.OFFSET_NOT_AVAILABLE, f"the leader of {unknown[0]} does not tell where it ends")
        return offsets


def _partitions_of(metadata: ClusterMetadata, topics: Iterable[str]) -> list[TopicPartition]:
    return sorted(TopicPartition(name, each.partition) for name in topics for each in metadata.partitions(name))
