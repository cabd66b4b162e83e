"""What must hold in a cluster after every turn of every broker. A violation is raised at once, under its name.

`single_leader`         in a leader epoch one broker leads
`single_controller`     in a controller epoch one broker is the controller
`watermark_replicated`  what is below a leader's high watermark is in the log of every in-sync replica
`committed_kept`        who leads in a later epoch has everything that was committed, and nobody cuts off any of it
`logs_identical`        below its high watermark every log has the same batches
`acknowledged_is_committed`  what a producer is told to be written with acks=all is committed by then
`isr_in_store`          in the store the leader is in sync and comes from the ISR; controllers of the past write nothing
`no_failure`            no request and no task fails with what nobody expected

Committed is what was once below the high watermark of a leader: clients may have seen it. `Ledger` keeps the batches.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from moldau.broker.node import Node
from moldau.cluster.znodes.layout import partition_state_path
from moldau.records.walk import batches
from moldau.replication.replicas import LogPartition
from moldau.storage.log import Log
from moldau.storage.log_directory import TopicPartition
from moldau.storage.log_reading import find_slice
from moldau.testing.simulation import Host
from tests.sim.cluster.simulated_cluster import SimulatedBroker, SimulatedCluster
from tests.sim.controller.checked_persistence import CheckedPersistence

READ_BYTES = 1 << 20


class Violated(AssertionError):
    """An invariant, by name, and what was found."""

    def __init__(self, name: str, found: str) -> None:
        super().__init__(f"{name}: {found}")
        self.name = name


class CommittedBatch(NamedTuple):
    """As much of a batch as tells it from any other."""

    base_offset: int
    next_offset: int
    leader_epoch: int
    checksum: int


class Ledger:
    """Everything that was ever committed in one partition, by base offset."""

    def __init__(self) -> None:
        self.batches: dict[int, CommittedBatch] = {}
        self.end_offset = 0
        self.committed_in_epoch = -1  # of the leader that committed last

    def compare(self, found: Iterable[CommittedBatch], who: str) -> None:
        for batch in found:
            if self.batches.get(batch.base_offset) != batch:
                committed = self.batches.get(batch.base_offset)
                raise Violated("logs_identical", f"{who} has {batch}, committed is {committed}")

    def extend(self, found: Iterable[CommittedBatch], leader_epoch: int) -> None:
        for batch in found:
            self.batches[batch.base_offset] = batch
            self.end_offset = batch.next_offset
        self.committed_in_epoch = leader_epoch


def batches_of(log: Log, start: int, end: int) -> list[CommittedBatch]:
    """The batches of a log between two offsets at which batches begin."""
    found: list[CommittedBatch] = []
    while start < end:
        piece = find_slice(log, start, end, READ_BYTES)
        assert piece is not None, f"{log} has nothing at {start}"
        for batch in batches(bytes(piece.read())):
            found.append(CommittedBatch(batch.base_offset, batch.next_offset, batch.leader_epoch, batch.crc))
            start = batch.next_offset
    return found


class Known:
    """A replica as it was when it was looked at last, with all its batches."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.batches: list[CommittedBatch] = []
        self.log_end_offset = 0
        self.high_watermark = 0
        self.truncations = log.truncations
        self.leader = -1
        self.leader_epoch = -1

    def __repr__(self) -> str:
        return f"{self.log}, high watermark {self.high_watermark}, leader {self.leader} in epoch {self.leader_epoch}"

    def read(self) -> list[CommittedBatch]:
        """Look again; what was there and is not any more."""
        log, before = self.log, self.batches
        if log.truncations != self.truncations or log.log_end_offset < self.log_end_offset:
            self.batches = batches_of(log, 0, log.log_end_offset)
            kept = set(self.batches)
            gone = [batch for batch in before if batch not in kept]
        else:
            self.batches += batches_of(log, self.log_end_offset, log.log_end_offset)
            gone = []
        self.log_end_offset, self.truncations = log.log_end_offset, log.truncations
        return gone

    def between(self, start: int, end: int) -> list[CommittedBatch]:
        found = []
        for batch in reversed(self.batches):
            if batch.base_offset < start:
                break
            if batch.base_offset < end:
                found.append(batch)
        return found[::-1]


class Invariants:
    """`look` is called after every turn of the loop."""

    def __init__(self, cluster: SimulatedCluster, stored: CheckedPersistence) -> None:
        self._cluster = cluster
        self._stored = stored
        self._brokers = {broker.host_name: broker for broker in cluster.brokers.values()}
        self._known: dict[tuple[int, TopicPartition], Known] = {}
        self._leaders: dict[tuple[bytes, int, int], int] = {}
        self._controllers: dict[int, int] = {}
        self._topic_ids: dict[str, bytes] = {}
        self._to_raise: Violated | None = None
        self.ledgers: dict[tuple[bytes, int], Ledger] = {}
        self.looks = 0

    def look(self, hosts: Iterable[Host | None]) -> None:
        if self._to_raise is not None:
            raise self._to_raise
        if self._stored.violations:
            raise Violated("isr_in_store", "; ".join(self._stored.violations))
        if self._cluster.failures:
            raise Violated("no_failure", "; ".join(self._cluster.failures))
        for host in hosts:
            broker = self._brokers.get(host.name) if host is not None and host.runs else None
            if broker is not None and broker.node is not None:
                self._look_at(broker, broker.node)

    def check_acknowledged(self, topic: str, partition: int, offset: int) -> None:
        """Called on a client's host; what is found there is raised by the next look, which ends the run."""
        ledger = self.ledgers[self._topic_ids[topic], partition]
        if offset not in ledger.batches:
            text = f"{topic}-{partition}: {offset} is acknowledged, committed is {ledger.end_offset}"
            self._to_raise = Violated("acknowledged_is_committed", text)

    def _look_at(self, broker: SimulatedBroker, node: Node) -> None:
        try:
            replicas, controller = node.replicas, node.controller
        except AttributeError:
            return  # it is coming up
        if controller.is_active:
            self._check_controller(broker.broker_id, controller.epoch)
        for key, partition in replicas.partitions.items():
            log = partition.log
            before = self._known.get((broker.broker_id, key))
            if log is None:
                topic_id = replicas.topic_ids.get(key[0])
                if before is not None and topic_id is not None:
                    self._look_at_lost(broker, key, topic_id, partition, before)
                continue
            if (
                before is None
                or before.log_end_offset != log.log_end_offset
                or before.high_watermark != log.high_watermark
                or before.leader_epoch != partition.leader_epoch
                or before.log is not log
            ):
                topic_id = replicas.topic_ids.get(key[0])
                if topic_id is not None:
                    self._check(broker, key, topic_id, partition, log)

    def _look_at_lost(
        self, broker: SimulatedBroker, key: TopicPartition, topic_id: bytes, partition: LogPartition, known: Known
    ) -> None:
        """Its directory has failed. What it committed in that very turn counts, if it was there before."""
        high_watermark = min(known.log.high_watermark, known.log_end_offset)
        ledger = self.ledgers[topic_id, key[1]]
        if known.high_watermark < high_watermark and ledger.end_offset < high_watermark:
            known.high_watermark = high_watermark
            self._check_replicated(key, topic_id, partition, known, f"{partition.name} on broker {broker.broker_id}")
            ledger.extend(known.between(ledger.end_offset, high_watermark), known.leader_epoch)

    def _check_controller(self, broker_id: int, epoch: int) -> None:
        if self._controllers.setdefault(epoch, broker_id) != broker_id:
            raise Violated("single_controller", f"{self._controllers[epoch]} and {broker_id} in epoch {epoch}")

    def _check(
        self, broker: SimulatedBroker, key: TopicPartition, topic_id: bytes, partition: LogPartition, log: Log
    ) -> None:
        self.looks += 1
        self._topic_ids[key[0]] = topic_id
        ledger = self.ledgers.setdefault((topic_id, key[1]), Ledger())
        who = f"{partition.name} on broker {broker.broker_id}"
        now = self._known.get((broker.broker_id, key))
        if now is None or now.log is not log:
            now = self._known[broker.broker_id, key] = Known(log)
        with broker.files.unbroken():  # its directory may have failed since it was written to
            gone = now.read()
        start, now.high_watermark = now.high_watermark, log.high_watermark
        now.leader, now.leader_epoch = partition.leader, partition.leader_epoch
        for batch in gone:
            if ledger.batches.get(batch.base_offset) == batch:
                raise Violated("committed_kept", f"{who} has cut off {batch}: {now}")
        if partition.is_leader:
            self._check_leader(key, topic_id, partition, ledger, now, who)
        elif now.high_watermark > ledger.end_offset:
            raise Violated("watermark_replicated", f"{who}: {now}, committed is {ledger.end_offset}")
        if now.high_watermark > start:
            ledger.compare(now.between(start, min(now.high_watermark, ledger.end_offset)), who)
            if now.high_watermark > ledger.end_offset:
                self._check_replicated(key, topic_id, partition, now, who)
                ledger.extend(now.between(ledger.end_offset, now.high_watermark), partition.leader_epoch)

    def _check_leader(
        self,
        key: TopicPartition,
        topic_id: bytes,
        partition: LogPartition,
        ledger: Ledger,
        now: Known,
        who: str,
    ) -> None:
        epoch = partition.leader_epoch
        leader = self._leaders.setdefault((topic_id, key[1], epoch), partition.broker_id)
        if leader != partition.broker_id:
            raise Violated("single_leader", f"{who} and broker {leader} lead in epoch {epoch}")
        if ledger.committed_in_epoch < epoch and now.log_end_offset < ledger.end_offset:
            raise Violated("committed_kept", f"{who} leads with {now}, committed is {ledger.end_offset}")

    def _check_replicated(
        self, key: TopicPartition, topic_id: bytes, partition: LogPartition, now: Known, who: str
    ) -> None:
        state, _version = self._stored.states.get(partition_state_path(*key), (None, 0))
        if state is not None and state.leader_epoch == partition.leader_epoch:
            for broker_id in state.isr:
                end_offset = self._end_of(broker_id, key, topic_id)
                if end_offset is not None and end_offset < now.high_watermark:
                    raise Violated("watermark_replicated", f"{who}: {now}, but {broker_id} ends at {end_offset}")
        for (broker_id, other), known in self._known.items():  # a newer leader must have it already
            if other == key and known.leader == broker_id and known.leader_epoch > partition.leader_epoch:
                end_offset = self._end_of(broker_id, key, topic_id)
                if end_offset is not None and end_offset < now.high_watermark:
                    raise Violated("committed_kept", f"{who}: {now}, but {broker_id} leads later with {known}")

    def _end_of(self, broker_id: int, key: TopicPartition, topic_id: bytes) -> int | None:
        """Where a broker's log ends, also if the broker was killed; None if that is not known."""
        broker = self._cluster.brokers[broker_id]
        if broker.has_lost_power or broker.node is None:
            return None
        try:
            replicas = broker.node.replicas
        except AttributeError:
            return None
        partition = replicas.partitions.get(key)
        if partition is None or partition.log is None or replicas.topic_ids.get(key[0]) != topic_id:
            return None
        return partition.log.log_end_offset
