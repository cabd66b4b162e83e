"""The partitions' states in the store: created, changed and read, many at a time.

The version of a state's znode is the partition's epoch, and a change is bound to the epoch that its author knew. The
controller alone changes states (KIP-497), except that leaders before Kafka 2.7 change their own ISR; so a conflict is
possible, and is answered with what is there now.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from moldau.cluster.errors import BadVersion, CoordinationError, MalformedZnode, NodeExists
from moldau.cluster.store import Create, Operation, SetData, Stat
from moldau.cluster.znodes.layout import partition_path, partition_state_path, partitions_path
from moldau.cluster.znodes.partition_state import PartitionState
from moldau.controller.context import Partition
from moldau.controller.fencing import FencedStore
from moldau.controller.leadership import INITIAL_PARTITION_EPOCH, Leadership

logger = logging.getLogger(__name__)

CONFLICTS_MAX = 10
"""How often a state that somebody else keeps changing is read again before a change of it is given up."""


class Written(NamedTuple):
    """What became of changes."""

    done: dict[Partition, Leadership]
    """As they are in the store now."""
    conflicts: list[Partition]
    """Somebody else was faster: read again."""
    failed: dict[Partition, str]


async def create_states(store: FencedStore, states: Mapping[Partition, Leadership]) -> Written:
    """Create the znodes of new partitions; one that has a state already fails."""
    partitions = list(states)
    writes: list[list[Operation]] = []
    for topic, index in partitions:
        # With partition 0 comes the parent of all; the others are later in the same request, or in a later one.
        write: list[Operation] = [Create(partitions_path(topic))] if index == 0 else []
        write.append(Create(partition_path(topic, index)))
        write.append(_create(topic, index, states[topic, index]))
        writes.append(write)
    written = Written({}, [], {})
    refused = []
    for partition, outcome in zip(partitions, await store.write_each(writes), strict=True):
        if isinstance(outcome, CoordinationError):
            refused.append(partition)
        else:
            written.done[partition] = states[partition]._replace(partition_epoch=INITIAL_PARTITION_EPOCH)
    for partition in refused:
        await _create_what_is_missing(store, partition, states[partition], written)
    return written


async def _create_what_is_missing(
    store: FencedStore, partition: Partition, state: Leadership, written: Written
) -> None:
    """Some of the znodes exist: left by a controller that did not come to the end, or made by a tool."""
    topic, index = partition
    for operation in (
        Create(partitions_path(topic)),
        Create(partition_path(topic, index)),
        _create(topic, index, state),
    ):
        (outcome,) = await store.write_each([[operation]])
        if isinstance(outcome, NodeExists) and operation.data is None:
            continue
        if isinstance(outcome, CoordinationError):
            written.failed[partition] = f"{type(outcome).__name__}: {outcome}"
            return
    written.done[partition] = state._replace(partition_epoch=INITIAL_PARTITION_EPOCH)


async def update_states(store: FencedStore, states: Mapping[Partition, Leadership]) -> Written:
    """Write states, as this controller's, over those with the partition epochs that they carry."""
    ours = {partition: state._replace(controller_epoch=store.epoch) for partition, state in states.items()}
    writes = [[_set(partition, state)] for partition, state in ours.items()]
    written = Written({}, [], {})
    for (partition, state), outcome in zip(ours.items(), await store.write_each(writes), strict=True):
        if isinstance(outcome, BadVersion):
            written.conflicts.append(partition)
        elif isinstance(outcome, CoordinationError):
            written.failed[partition] = f"{type(outcome).__name__}: {outcome}"
        else:
            (stat,) = outcome
            assert isinstance(stat, Stat)
            written.done[partition] = state._replace(partition_epoch=stat.version)
    return written


async def read_states(store: FencedStore, partitions: Iterable[Partition]) -> dict[Partition, Leadership]:
    """The states that exist; what cannot be understood is logged and counts as missing."""
    paths = {partition_state_path(*partition): partition for partition in partitions}
    states = {}
    for path, znode in (await store.read_each(paths)).items():
        partition = paths[path]
        try:
            state = PartitionState.decode(*partition, znode.data)
        except MalformedZnode as error:
            logger.warning("%s", error)
        else:
            states[partition] = Leadership.of_znode(state, znode.stat.version)
    return states


def _create(topic: str, index: int, state: Leadership) -> Create:
    return Create(partition_state_path(topic, index), state.znode().encode())


def _set(partition: Partition, state: Leadership) -> SetData:
    return SetData(partition_state_path(*partition), state.znode().encode(), state.partition_epoch)
