"""How a broker becomes the controller: whoever creates /controller first, and raises /controller_epoch with it.

Both happen in one change, the epoch's being bound to the version that was read (B18). So two claimants cannot both
win, and no epoch is used twice. /controller is an ephemeral: it goes with the session of the broker, and everybody
hears of it. A broker whose own session has /controller already does not know what became of an earlier attempt, or of
its last write, because the connection broke: it takes the next epoch and begins anew.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from moldau.cluster.errors import BadVersion, MultiFailed, NodeExists, NoNode
from moldau.cluster.store import (
    Check,
    CoordinationSession,
    Create,
    CreateMode,
    Delete,
    Operation,
    SetData,
    Stat,
    Watcher,
)
from moldau.cluster.znodes.controller import (
    INITIAL_CONTROLLER_EPOCH,
    ControllerRegistration,
    decode_controller_epoch,
    encode_controller_epoch,
)
from moldau.cluster.znodes.layout import CONTROLLER, CONTROLLER_EPOCH

NO_CONTROLLER = -1


class Claim(NamedTuple):
    """An election that was won."""

    epoch: int
    epoch_version: int
    """Of /controller_epoch: the fence of every write."""


async def find_controller(session: CoordinationSession, watcher: Watcher) -> tuple[int, bool]:
    """Who is the controller, or -1, and whether by this very session; hears of the next change."""
    if await session.exists(CONTROLLER, watcher) is None:
        return NO_CONTROLLER, False
    try:
        znode = await session.get(CONTROLLER)
    except NoNode:
        return NO_CONTROLLER, False  # gone between the two reads, and the watch will say so
    registration = ControllerRegistration.decode(znode.data)
    return registration.broker_id, znode.stat.ephemeral_owner == session.session_id


async def claim(session: CoordinationSession, broker_id: int, now_ms: int, *, again: bool) -> Claim | None:
    """Try to be elected; `again` if /controller is of this very session. None if another broker was faster."""
    epoch, version = await _read_epoch(session)
    operations: list[Operation] = [
        Create(CONTROLLER, ControllerRegistration(broker_id, now_ms).encode(), CreateMode.EPHEMERAL),
        SetData(CONTROLLER_EPOCH, encode_controller_epoch(epoch + 1), version),
    ]
    if again:
        operations.insert(0, Delete(CONTROLLER))
    try:
        results = await session.multi(operations)
    except MultiFailed as failure:
        if isinstance(failure.error, NodeExists | BadVersion | NoNode):
            return None
        raise
    stat = results[-1]
    assert isinstance(stat, Stat)
    return Claim(epoch + 1, stat.version)


async def give_up(session: CoordinationSession, epoch_version: int) -> None:
    """Delete /controller, if it is still that of this epoch, so that another is elected."""
    try:
        await session.multi([Check(CONTROLLER_EPOCH, epoch_version), Delete(CONTROLLER)])
    except MultiFailed as failure:
        if not isinstance(failure.error, BadVersion | NoNode):
            raise


async def _read_epoch(session: CoordinationSession) -> tuple[int, int]:
    """The last epoch and the version of its znode, which the first broker creates."""
    try:
        znode = await session.get(CONTROLLER_EPOCH)
    except NoNode:
        with suppress(NodeExists):
            await session.create(CONTROLLER_EPOCH, encode_controller_epoch(INITIAL_CONTROLLER_EPOCH))
        znode = await session.get(CONTROLLER_EPOCH)
    return decode_controller_epoch(znode.data), znode.stat.version
