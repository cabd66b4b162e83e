"""Commands of the scripts in `replication/`, and what they show: every replica after the command.

    brokers A B [epochs off | epochs by request]    A leads, and both are in sync
    write m1                                        a record at the leader
    B fetches                                       one round: ask, hear, append or truncate
    B asks                                          the same, but the answer is lost
    high watermarks are written                     to disk, by all that run
    A crashes [losing 1]                            the last record was not on the disk
    A returns                                       as a follower of who leads, if anybody does
    A is elected                                    from now on it leads, in a new epoch

A replica is shown with its records, each with the epoch that it was written in, and its high watermark as a bar.
"""

from __future__ import annotations

from moldau.replication.followers.settings import FollowerSettings
from tests.unit.replication.followers.replica_group import Broker, ReplicaGroup

MODES = {
    "epochs off": FollowerSettings(uses_epochs=False, fetch_version_max=11),
    "epochs by request": FollowerSettings(fetch_version_max=11),
    "": FollowerSettings(),
}


class ScriptedReplicas:
    def __init__(self) -> None:
        self._group: ReplicaGroup | None = None
        self._names: list[str] = []

    def obey(self, line: str) -> list[str]:
        """Carry a command out; what it leaves behind."""
        first, _, rest = line.partition(" ")
        if first == "brokers":
            return self._begin(rest)
        group = self._group
        assert group is not None, "a script begins with its brokers"
        if first == "write":
            group.write(rest)
        elif first == "high":
            group.write_high_watermarks()
        else:
            self._order(group, self._names.index(first), rest)
        return self._shown()

    def _begin(self, rest: str) -> list[str]:
        names, _, mode = rest.partition(" epochs ")
        self._names = names.split()
        self._group = ReplicaGroup(len(self._names), MODES[f"epochs {mode}" if mode else ""])
        self._group.elect(0)
        return self._shown()

    @staticmethod
    def _order(group: ReplicaGroup, broker_id: int, order: str) -> None:
        if order == "fetches":
            group.fetch(broker_id)
        elif order == "asks":
            group.fetch(broker_id, lose_answer=True)
        elif order == "returns":
            group.start(broker_id)
        elif order == "is elected":
            group.elect(broker_id)
        else:
            crash, _, lost = order.partition(" losing ")
            assert crash == "crashes", f"nobody knows how to {order}"
            group.crash(broker_id, int(lost or 0))

    def _shown(self) -> list[str]:
        assert self._group is not None
        return [
            self._show(name, broker) for name, broker in zip(self._names, self._group.brokers.values(), strict=True)
        ]

    @staticmethod
    def _show(name: str, broker: Broker) -> str:
        words = [f"{entry.value}/{entry.epoch}" for entry in broker.log.entries]
        words.insert(broker.log.high_watermark - broker.log.log_start_offset, "|")
        state = "leads" if broker.leads else "follows" if broker.is_running else "is down"
        return f"{name} {state:<8} {' '.join(words)}"
