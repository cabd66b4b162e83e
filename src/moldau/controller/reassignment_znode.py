"""/admin/reassign_partitions, by which tools before KIP-455 ask for reassignments.

A partition is taken out of the list when it has arrived or cannot move, and the znode goes with the last one; that is
how a tool sees what is still under way.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from moldau.cluster.errors import MalformedZnode, NoNode
from moldau.cluster.store import Delete, SetData
from moldau.cluster.znodes.layout import REASSIGN_PARTITIONS
from moldau.cluster.znodes.partition_lists import decode_reassignment, encode_reassignment
from moldau.controller.context import Partition

if TYPE_CHECKING:
    from moldau.controller.term import Term

logger = logging.getLogger(__name__)

IsDone = Callable[[Partition, tuple[int, ...]], bool]


async def read_requested(term: Term, *, watch: bool = False) -> dict[Partition, tuple[int, ...]]:
    """Where each partition shall go; nothing if there is no such znode."""
    session = term.store.session
    if await session.exists(REASSIGN_PARTITIONS, term.watcher if watch else None) is None:
        return {}
    try:
        return decode_reassignment((await session.get(REASSIGN_PARTITIONS)).data)
    except NoNode:
        return {}
    except MalformedZnode as error:
        logger.warning("%s; it is deleted", error)
        await term.store.delete([REASSIGN_PARTITIONS])
        return {}


async def forget_requested(term: Term, is_done: IsDone) -> None:
    """Take partitions out of the list."""
    asked = await read_requested(term)
    remaining = {partition: target for partition, target in asked.items() if not is_done(partition, target)}
    if len(remaining) == len(asked):
        return
    if remaining:
        await term.store.write_each([[SetData(REASSIGN_PARTITIONS, encode_reassignment(remaining))]])
    else:
        await term.store.write_each([[Delete(REASSIGN_PARTITIONS)]])
        await term.store.session.exists(REASSIGN_PARTITIONS, term.watcher)
