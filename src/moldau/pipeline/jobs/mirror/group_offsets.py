"""Offsets of groups at the source, translated and committed at the target.

A group at the target that has members goes its own way, and one that is further than the translation is not put back:
who has moved over to the target has moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from moldau.base.errors import ApiError
from moldau.clients.admin.plain import Admin
from moldau.clients.records import OffsetAndMetadata, TopicPartition
from moldau.pipeline.jobs.mirror.clusters import Clusters
from moldau.pipeline.jobs.mirror.sync_points import SyncPoints

Committed = Mapping[TopicPartition, OffsetAndMetadata | None]

GROUPS_AT_ONCE: Final = 100


def translate_groups(clusters: Clusters, points: SyncPoints, own_group: str) -> int:
    """Bring the offsets of all groups over; how many partitions were committed."""
    groups = sorted(each.group_id for each in clusters.source.list_consumer_groups())
    wanted = [group for group in groups if group != own_group]
    count = 0
    for first in range(0, len(wanted), GROUPS_AT_ONCE):
        some = wanted[first : first + GROUPS_AT_ONCE]
        found = clusters.source.list_consumer_group_offsets(some, raise_errors=False).succeeded
        for group, committed in found.items():
            count += _bring_over(clusters.target, group, translated(committed, points))
    return count


def translated(committed: Committed, points: SyncPoints) -> dict[TopicPartition, OffsetAndMetadata]:
    """Offsets at the target, for the partitions that are mirrored."""
    found = {}
    for partition, each in committed.items():
        offset = None if each is None else points.translate(partition, each.offset)
        if each is not None and offset is not None:
            found[partition] = OffsetAndMetadata(offset, each.metadata)
    return found


def only_forward(
    wanted: Mapping[TopicPartition, OffsetAndMetadata], there: Committed
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Those that are further than what the group has at the target already."""
    found = {}
    for partition, each in wanted.items():
        known = there.get(partition)
        if known is None or known.offset < each.offset:
            found[partition] = each
    return found


def _bring_over(target: Admin, group: str, wanted: Mapping[TopicPartition, OffsetAndMetadata]) -> int:
    if not wanted:
        return 0
    try:
        there = target.list_consumer_group_offsets([group])[group]
        new = only_forward(wanted, there)
        if not new:
            return 0
        return len(target.alter_consumer_group_offsets(group, new, raise_errors=False).succeeded)
    except ApiError:
        return 0  # it has members at the target, or may not be seen: it is left alone
