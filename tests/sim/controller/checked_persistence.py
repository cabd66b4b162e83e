"""A store that looks at every state of a partition, and at every controller epoch, as it is written."""

from __future__ import annotations

import asyncio

from moldau.cluster.persistence import MemoryPersistence
from moldau.cluster.tree import Changes
from moldau.cluster.znodes.layout import CONTROLLER_EPOCH, TOPICS
from moldau.cluster.znodes.partition_state import PartitionState

UNCLEAN_TOPIC = "unclean"


class CheckedPersistence(MemoryPersistence):
    """Looks at every state of a partition on its way to the disk."""

    def __init__(self) -> None:
        super().__init__()
        self.states: dict[str, tuple[PartitionState, int]] = {}
        self.violations: list[str] = []
        self.epochs = [-1]
        """The last controller epoch; in the commit that changes it, also the one before."""

    def commit(self, last_zxid: int, changes: Changes) -> asyncio.Future[None]:
        del self.epochs[:-1]
        if (znode := changes.get(CONTROLLER_EPOCH)) is not None:
            self.epochs.append(int(znode.data or b"0"))
            self._expect(self.epochs[-1] > self.epochs[0], "a controller epoch was used twice")
        for path, znode in changes.items():
            if path.startswith(TOPICS) and path.endswith("/state"):
                if znode is None:
                    self.states.pop(path, None)
                else:
                    topic, _partitions, index, _state = path[len(TOPICS) + 1 :].split("/")
                    state = PartitionState.decode(topic, int(index), znode.data)
                    self._check(path, topic, state, znode.stat.version)
        return super().commit(last_zxid, changes)

    def _check(self, path: str, topic: str, state: PartitionState, version: int) -> None:
        before, version_before = self.states.get(path, (None, -1))
        self.states[path] = state, version
        self._expect(state.leader == -1 or state.leader in state.isr, f"{path}: a leader that is not in sync")
        self._expect(bool(state.isr), f"{path}: nobody is in sync")
        if before is None or version == 0:
            return
        self._expect(version == version_before + 1, f"{path}: a state was written over without being seen")
        self._expect(state.controller_epoch in self.epochs, f"{path}: a controller of the past wrote")
        self._expect(state.leader_epoch >= before.leader_epoch, f"{path}: the leader epoch fell")
        if state.leader != before.leader:
            self._expect(state.leader_epoch > before.leader_epoch, f"{path}: two leaders in one epoch")
        if state.leader not in (-1, before.leader) and state.leader not in before.isr:
            self._expect(topic == UNCLEAN_TOPIC, f"{path}: an unclean election that nobody allowed")
            self._expect(state.is_recovering, f"{path}: an unclean leader that is not said to be one")

    def _expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.violations.append(otherwise)
