"""Offsets that nobody needs any more, and groups that have none left (KIP-211).

An offset expires when its retention is over, counted from the moment in which

    the group became empty     if it has no members
    the offset was committed   if the group is simple, or if its members no longer subscribe to the topic

and never while members may need it or an open transaction is about to change it. A client of old may have set the end
itself. An empty group without offsets is deleted.
"""

from __future__ import annotations

from collections.abc import Iterator

from moldau.coordinator.group.group import ClassicGroup
from moldau.coordinator.group.offset_codec import NONE, CommittedOffset
from moldau.coordinator.group.offset_store import NO_OFFSETS, OffsetStore
from moldau.coordinator.group.states import EMPTY, STABLE
from moldau.coordinator.group.stored_records import group_tombstone, offset_tombstone
from moldau.coordinator.runtime.result import StoredRecord


def expired_records(
    group: ClassicGroup, offsets: OffsetStore, now_ms: int, retention_ms: int
) -> Iterator[StoredRecord]:
    """The tombstones to write for a group; whoever takes some of them asks again for the rest."""
    has_remaining = False
    for key, committed in offsets.committed.get(group.group_id, NO_OFFSETS).items():
        is_over = _is_over(group, key[0], committed, now_ms, retention_ms)
        if is_over and not offsets.is_pending(group.group_id, key):
            yield offset_tombstone(group.group_id, *key)
        else:
            has_remaining = True
    if group.state is EMPTY and not has_remaining and not offsets.has_open_transactions(group.group_id):
        yield group_tombstone(group.group_id)


def _is_over(group: ClassicGroup, topic: str, committed: CommittedOffset, now_ms: int, retention_ms: int) -> bool:
    since_ms = committed.commit_ms
    if group.protocol_type is not None:
        if group.state is EMPTY:
            since_ms = since_ms if group.state_since_ms is None else group.state_since_ms
        elif group.state is not STABLE or group.subscribed_topics is None:
            return False
    if group.is_subscribed_to(topic):
        return False
    if committed.expire_ms != NONE:
        return now_ms >= committed.expire_ms
    return now_ms - since_ms >= retention_ms
