"""Leader, epochs and in-sync replicas of one partition, as the controller last wrote or read them."""

from __future__ import annotations

from typing import NamedTuple

from moldau.cluster.znodes.partition_state import NO_LEADER, PartitionState

INITIAL_LEADER_EPOCH = 0
INITIAL_PARTITION_EPOCH = 0
LEADER_DURING_DELETE = -2
"""Who leads a partition whose topic is being deleted, as clients are told."""


class Leadership(NamedTuple):
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    """The version of the znode: grows with every change, also with those of the ISR that keep the leader epoch."""
    controller_epoch: int
    """The epoch of the controller that wrote it."""
    is_recovering: bool = False
    """After an unclean election, until the new leader has made its log consistent (KIP-704)."""

    @classmethod
    def first(cls, replicas: tuple[int, ...], controller_epoch: int) -> Leadership:
        """Of a new partition: the first replica that lives leads, all that live are in sync."""
        return cls(replicas[0], INITIAL_LEADER_EPOCH, replicas, INITIAL_PARTITION_EPOCH, controller_epoch)

    @classmethod
    def of_znode(cls, state: PartitionState, version: int) -> Leadership:
        return cls(state.leader, state.leader_epoch, state.isr, version, state.controller_epoch, state.is_recovering)

    def znode(self) -> PartitionState:
        return PartitionState(self.controller_epoch, self.leader, self.leader_epoch, self.isr, self.is_recovering)

    def next(
        self, leader: int | None = None, isr: tuple[int, ...] | None = None, *, is_recovering: bool | None = None
    ) -> Leadership:
        """What the controller decided: always a new leader epoch, so that brokers obey it."""
        return self._replace(
            leader=self.leader if leader is None else leader,
            leader_epoch=self.leader_epoch + 1,
            isr=self.isr if isr is None else isr,
            is_recovering=self.is_recovering if is_recovering is None else is_recovering,
        )

    def without_replica(self, replica: int) -> Leadership:
        """The replica left: it neither leads nor is in sync, but the last in-sync replica is remembered."""
        isr = self.isr if len(self.isr) == 1 else tuple(each for each in self.isr if each != replica)
        return self.next(NO_LEADER if replica == self.leader else self.leader, isr)

    def during_delete(self) -> Leadership:
        """What brokers tell clients of a partition that is being deleted."""
        return self._replace(
            leader=LEADER_DURING_DELETE, leader_epoch=INITIAL_LEADER_EPOCH, partition_epoch=INITIAL_PARTITION_EPOCH
        )
