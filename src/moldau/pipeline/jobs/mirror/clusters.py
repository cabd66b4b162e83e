"""Both clusters of a mirror: their topics and ends, asked and told through their admin clients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Final, Self

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.clients.admin.config_entries import ConfigResource, ConfigSource
from moldau.clients.admin.partitions import IsolationLevel, OffsetSpec
from moldau.clients.admin.plain import Admin
from moldau.clients.admin.topics import NewTopic
from moldau.clients.records import TopicPartition
from moldau.pipeline.jobs.mirror.settings import MirrorSettings
from moldau.pipeline.jobs.topics import admin_settings

Offsets = dict[TopicPartition, int]

# What says how long records live and how they are kept; the rest, such as throttles, is a matter of each cluster.
_COPIED: Final = frozenset(
    {
        "cleanup.policy",
        "retention.ms",
        "retention.bytes",
        "compression.type",
        "max.message.bytes",
        "min.insync.replicas",
    }
)
_ISOLATION: Final = {
    "read_committed": IsolationLevel.READ_COMMITTED,
    "read_uncommitted": IsolationLevel.READ_UNCOMMITTED,
}


class Clusters:
    """`source` and `target` are admin clients."""

    def __init__(self, settings: MirrorSettings) -> None:
        self._settings = settings
        self.source = Admin(admin_settings(settings.source_options()))
        try:
            self.target = Admin(admin_settings(settings.sink_options()))
        except BaseException:
            self.source.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.source.close()
        self.target.close()

    def topics(self) -> dict[str, int]:
        """The topics to mirror, and how many partitions each has."""
        wanted = [name for name in self.source.list_topics() if self._settings.wants(name)]
        return _counts(self.source, wanted)

    def make_missing(self, topics: Mapping[str, int]) -> dict[str, int]:
        """Make topics that the target does not have, as they are at the source; the counts that all have there."""
        there = set(self.target.list_topics(list_internal=True))
        missing = [name for name in topics if name not in there]
        if missing:
            configs = self.source.describe_configs([ConfigResource.topic(name) for name in missing])
            new = [
                NewTopic(
                    name,
                    topics[name],
                    configs={
                        key: entry.value
                        for key, entry in configs[ConfigResource.topic(name)].items()
                        if entry.source is ConfigSource.DYNAMIC_TOPIC_CONFIG
                        and key in _COPIED
                        and entry.value is not None
                    },
                )
                for name in missing
            ]
            for error in self.target.create_topics(new, raise_errors=False).errors.values():
                if not isinstance(error, ApiError) or error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise error
        return _counts(self.target, topics)

    def source_ends(self, topics: Mapping[str, int]) -> Offsets:
        """How far the source can be read now."""
        level = _ISOLATION.get(self._settings.isolation_level, IsolationLevel.READ_COMMITTED)
        return _offsets(self.source, topics, OffsetSpec.LATEST, level)

    def source_starts(self, topics: Mapping[str, int]) -> Offsets:
        return _offsets(self.source, topics, OffsetSpec.EARLIEST, IsolationLevel.READ_UNCOMMITTED)

    def target_ends(self, topics: Mapping[str, int]) -> Offsets:
        """Where the target's committed records end now."""
        return _offsets(self.target, topics, OffsetSpec.LATEST, IsolationLevel.READ_COMMITTED)

    def committed(self) -> Offsets:
        """What the mirror's own group has committed at the source."""
        group = self._settings.group
        found = self.source.list_consumer_group_offsets([group])[group]
        return {partition: each.offset for partition, each in found.items() if each is not None}


def _counts(admin: Admin, names: Iterable[str]) -> dict[str, int]:
    wanted = list(names)
    if not wanted:
        return {}
    return {name: len(each.partitions) for name, each in admin.describe_topics(wanted).items()}


def _offsets(admin: Admin, topics: Mapping[str, int], spec: OffsetSpec, level: IsolationLevel) -> Offsets:
    partitions = {TopicPartition(name, number): spec for name, count in topics.items() for number in range(count)}
    if not partitions:
        return {}
    return {each: found.offset for each, found in admin.list_offsets(partitions, isolation_level=level).items()}
