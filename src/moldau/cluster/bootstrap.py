"""What a broker does in the store before it registers: the paths of Kafka's layout, the cluster's id, an id of its own.

Several brokers start at the same time, so each step is one that any of them may have done first.
"""

from __future__ import annotations

from collections.abc import Iterable

from moldau.cluster.errors import NodeExists, NoNode
from moldau.cluster.paths import ROOT, parent_of
from moldau.cluster.store import CoordinationSession
from moldau.cluster.znodes.cluster_id import decode_cluster_id, encode_cluster_id
from moldau.cluster.znodes.layout import BROKER_SEQUENCE, CLUSTER_ID, PERSISTENT_PATHS

RESERVED_BROKER_ID_MAX = 1000


async def create_path(session: CoordinationSession, path: str, data: bytes | None = None) -> bool:
    """Create a persistent znode, its parents first where they are missing; False if it existed."""
    try:
        await session.create(path, data)
    except NodeExists:
        return False
    except NoNode:
        assert path != ROOT
        await create_path(session, parent_of(path))
        return await create_path(session, path, data)
    return True


async def create_paths(session: CoordinationSession, paths: Iterable[str] = PERSISTENT_PATHS) -> None:
    for path in paths:
        await create_path(session, path)


async def find_or_create_cluster_id(session: CoordinationSession, proposed: str) -> str:
    """The cluster's id: the one in the store, else `proposed`, unless another broker was faster."""
    await create_path(session, CLUSTER_ID, encode_cluster_id(proposed))
    return decode_cluster_id((await session.get(CLUSTER_ID)).data)


async def generate_broker_id(session: CoordinationSession, reserved_max: int = RESERVED_BROKER_ID_MAX) -> int:
    """An id that no broker had: each write of the sequence znode has a version of its own. The first is 1001."""
    await create_path(session, BROKER_SEQUENCE)
    stat = await session.set(BROKER_SEQUENCE, b"")
    return reserved_max + stat.version
