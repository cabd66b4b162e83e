"""Which replica a consumer should read from (KIP-392): `replica.selector.class` names a class with a `select`.

The leader asks it for every consumer that can be sent elsewhere, and offers only replicas that have the offset and are
in sync. Without a selector, and for consumers of versions before 11 of Fetch, it is the leader.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, NamedTuple, Protocol, cast

from moldau.base.config.broker_config import BrokerConfig
from moldau.base.config.class_names import load_class
from moldau.replication.replicas import LogPartition

SELECTORS: Final = {
    "org.apache.kafka.common.replica.RackAwareReplicaSelector": f"{__name__}.RackAwareReplicaSelector",
    "org.apache.kafka.common.replica.LeaderSelector": f"{__name__}.LeaderSelector",
}
SETTING: Final = "replica.selector.class"
NO_PREFERENCE: Final = -1


class ReplicaView(NamedTuple):
    """A replica to choose; `behind_ms` is the time since it had caught up with the leader."""

    broker_id: int
    rack: str | None
    log_end_offset: int
    behind_ms: float


class ReplicaSelector(Protocol):
    def select(self, client_rack: str, leader: ReplicaView, replicas: Collection[ReplicaView]) -> ReplicaView:
        """One of the replicas, among which is the leader."""
        ...


class LeaderSelector:
    def select(self, client_rack: str, leader: ReplicaView, replicas: Collection[ReplicaView]) -> ReplicaView:  # noqa: ARG002
        return leader


class RackAwareReplicaSelector:
    """The leader if it is in the client's rack, else the replica there that is furthest ahead, else the leader."""

    def select(self, client_rack: str, leader: ReplicaView, replicas: Collection[ReplicaView]) -> ReplicaView:
        near = [replica for replica in replicas if client_rack and replica.rack == client_rack]
        if not near or leader in near:
            return leader
        return max(near, key=lambda replica: (replica.log_end_offset, -replica.behind_ms, replica.broker_id))


def selector_of(config: BrokerConfig) -> ReplicaSelector | None:
    """What `replica.selector.class` asks for; `ConfigError` if there is no such class."""
    name = config.text_or_none(SETTING)
    return cast(ReplicaSelector, load_class(SETTING, name, SELECTORS)()) if name else None


def preferred_replica(
    partition: LogPartition,
    selector: ReplicaSelector,
    client_rack: str,
    fetch_offset: int,
    rack_of: Callable[[int], str | None],
    now_ms: float,
) -> int:
    """Which broker a consumer should read from instead of this one; -1: go on here. To be asked of a leader.

    `rack_of` raises `KeyError` for a broker that the client cannot reach.
    """
    log = partition.require_log()
    views = []
    for broker_id, replica in partition.remote_replicas.items():
        has_offset = replica.log_start_offset <= fetch_offset <= replica.log_end_offset
        if has_offset and broker_id in partition.isr.committed:
            try:
                rack = rack_of(broker_id)
            except KeyError:
                continue
            views.append(ReplicaView(broker_id, rack, replica.log_end_offset, now_ms - replica.caught_up_ms))
    try:
        own_rack = rack_of(partition.broker_id)
    except KeyError:
        own_rack = None
    leader = ReplicaView(partition.broker_id, own_rack, log.log_end_offset, 0.0)
    chosen = selector.select(client_rack, leader, [*views, leader])
    return NO_PREFERENCE if chosen.broker_id == partition.broker_id else chosen.broker_id
