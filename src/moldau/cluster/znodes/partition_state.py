"""/brokers/topics/<topic>/partitions/<partition>/state: leader, epochs and in-sync replicas.

The version of the znode is the partition epoch. The recovery state (KIP-704) is there only after an unclean election.
"""

from __future__ import annotations

from dataclasses import dataclass

from moldau.cluster.znodes.content import JsonObject, encode_json
from moldau.cluster.znodes.layout import partition_state_path

VERSION = 1
NO_LEADER = -1


@dataclass(frozen=True, slots=True)
class PartitionState:
    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    is_recovering: bool = False

    def encode(self) -> bytes:
        content: dict[str, object] = {
            "version": VERSION,
            "controller_epoch": self.controller_epoch,
            "leader": self.leader,
            "leader_epoch": self.leader_epoch,
            "isr": list(self.isr),
        }
        if self.is_recovering:
            content["leader_recovery_state"] = 1
        return encode_json(content)

    @classmethod
    def decode(cls, topic: str, partition: int, data: bytes | None) -> PartitionState:
        content = JsonObject.parse(partition_state_path(topic, partition), data)
        content.expect_version(VERSION)
        recovery_state = content.integer("leader_recovery_state", 0)
        if recovery_state not in (0, 1):
            content.fail(f"leader_recovery_state is {recovery_state}, expected 0 or 1")
        return cls(
            controller_epoch=content.integer("controller_epoch"),
            leader=content.integer("leader"),
            leader_epoch=content.integer("leader_epoch"),
            isr=content.integers("isr"),
            is_recovering=recovery_state == 1,
        )
