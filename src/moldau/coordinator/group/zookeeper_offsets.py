"""Offsets of version 0 of OffsetCommit and OffsetFetch: in the coordination store, as Kafka kept them before 0.9.

A group's offset of a partition is the text in `/consumers/<group>/offsets/<topic>/<partition>`. These are not the
group's offsets in `__consumer_offsets`, and neither knows of the other.
"""

from __future__ import annotations

from contextlib import suppress

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.cluster.errors import NodeExists, NoNode
from moldau.cluster.store import CoordinationSession
from moldau.cluster.znodes.layout import CONSUMERS


def _path(group_id: str, topic: str, partition: int) -> str:
    if not group_id or "/" in group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID, "the id is part of a path")
    return f"{CONSUMERS}/{group_id}/offsets/{topic}/{partition}"


async def store_offset(session: CoordinationSession, group_id: str, topic: str, partition: int, offset: int) -> None:
    path, data = _path(group_id, topic, partition), str(offset).encode()
    try:
        await session.set(path, data)
    except NoNode:
        for end in range(1, len(path)):
            if path[end] == "/":
                await _create(session, path[:end])
        await _create(session, path)
        await session.set(path, data)


async def _create(session: CoordinationSession, path: str) -> None:
    with suppress(NodeExists):
        await session.create(path)


async def stored_offset(session: CoordinationSession, group_id: str, topic: str, partition: int) -> int | None:
    try:
        found = await session.get(_path(group_id, topic, partition))
        return int(found.data or b"")
    except (NoNode, ValueError):
        return None
