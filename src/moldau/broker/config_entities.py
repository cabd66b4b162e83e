"""/config/<type>/<entity> as brokers read and write it.

A write is bound to what its writer has read, and carries its notification with it in one change: other brokers can
neither miss the change nor hear of one that was not made.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import NamedTuple

from moldau.cluster.errors import BadArguments, BadVersion, MalformedZnode, MultiFailed, NodeExists, NoNode
from moldau.cluster.store import CoordinationSession, Create, CreateMode, SetData
from moldau.cluster.znodes.configs import decode_config, encode_config, encode_config_change
from moldau.cluster.znodes.layout import CONFIG_CHANGE_PREFIX, config_path

TOPICS = "topics"
BROKERS = "brokers"

logger = logging.getLogger(__name__)


class Entity(NamedTuple):
    """What has settings of its own; `name` as it is in the tree."""

    type: str
    name: str

    @property
    def path(self) -> str:
        return config_path(self.type, self.name)


class Overrides(NamedTuple):
    """What was given to an entity, and the version of its znode; None if there is no znode."""

    entries: dict[str, str]
    version: int | None


async def read_overrides(session: CoordinationSession, entity: Entity) -> Overrides:
    """A znode that makes no sense has no settings: it is reported, and the next write mends it."""
    try:
        znode = await session.get(entity.path)
    except NoNode:
        return Overrides({}, None)
    try:
        return Overrides(decode_config(entity.path, znode.data), znode.stat.version)
    except MalformedZnode as error:
        logger.warning("the settings at %s are ignored: %s", error.path, error.problem)
        return Overrides({}, znode.stat.version)


async def write_overrides(
    session: CoordinationSession, entity: Entity, entries: Mapping[str, str], version: int | None
) -> bool:
    """Write all settings of an entity; False if somebody else has written since they were read."""
    data = encode_config(entries)
    write = Create(entity.path, data) if version is None else SetData(entity.path, data, version)
    change = encode_config_change(f"{entity.type}/{entity.name}")
    try:
        await session.multi([write, Create(CONFIG_CHANGE_PREFIX, change, CreateMode.PERSISTENT_SEQUENTIAL)])
    except MultiFailed as failed:
        if isinstance(failed.error, BadArguments):
            raise failed.error from failed
        if not isinstance(failed.error, BadVersion | NodeExists | NoNode):
            raise
        return False
    return True
