"""Replicas change their state, and brokers are told what to do with them.

What each state does when it is entered is written where it is entered, one function each. All replicas of one change
go into one batch of requests.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from moldau.controller.context import ControllerContext, Partition, ReplicasByBroker
from moldau.controller.fencing import FencedStore
from moldau.controller.partition_writes import CONFLICTS_MAX, read_states, update_states
from moldau.controller.replica_states import PREVIOUS_REPLICA_STATES, ReplicaState
from moldau.controller.requests import ControlRequests

logger = logging.getLogger(__name__)


class ReplicaStateMachine:
    def __init__(self, context: ControllerContext, requests: ControlRequests, store: FencedStore) -> None:
        self._context = context
        self._requests = requests
        self._store = store

    async def start(self) -> None:
        """Begin with which brokers live; what is not online may be waiting to be deleted."""
        context = self._context
        online: ReplicasByBroker = {}
        offline: ReplicasByBroker = {}
        for partition in context.partitions():
            for replica in context.replicas(partition):
                is_online = context.is_online(partition, replica)
                state = ReplicaState.ONLINE if is_online else ReplicaState.DELETION_INELIGIBLE
                context.put_replica_state(partition, replica, state)
                (online if is_online else offline).setdefault(replica, []).append(partition)
        await self.become(online, ReplicaState.ONLINE)
        await self.become(offline, ReplicaState.OFFLINE)

    async def become(self, replicas: ReplicasByBroker, target: ReplicaState) -> None:
        """Enter a state with all its effects; replicas that cannot enter it stay as they are, which is logged."""
        for replica, partitions in replicas.items():
            legal = [partition for partition in partitions if self._is_legal(partition, replica, target)]
            if not legal:
                continue
            match target:
                case ReplicaState.NEW:
                    legal = self._become_new(replica, legal)
                case ReplicaState.ONLINE:
                    self._become_online(replica, legal)
                case ReplicaState.OFFLINE:
                    await self._become_offline(replica, legal)
                case ReplicaState.DELETION_STARTED:
                    for partition in legal:
                        self._requests.stop_replica(replica, partition, delete=True)
                case ReplicaState.NON_EXISTENT:
                    for partition in legal:
                        assignment = self._context.assignment(partition).without_replica(replica)
                        self._context.assign(partition, assignment)
                case ReplicaState.DELETION_SUCCESSFUL | ReplicaState.DELETION_INELIGIBLE:
                    pass
            for partition in legal:
                self._context.put_replica_state(partition, replica, target)
        self._requests.send()

    def _is_legal(self, partition: Partition, replica: int, target: ReplicaState) -> bool:
        state = self._context.replica_state(partition, replica)
        if state in PREVIOUS_REPLICA_STATES[target]:
            return True
        logger.error("replica %d of %s-%d cannot become %s, being %s", replica, *partition, target.name, state.name)
        return False

    def _become_new(self, replica: int, partitions: list[Partition]) -> list[Partition]:
        """A replica is added. If its partition has a leader it follows it; as the leader itself it cannot be new."""
        context = self._context
        legal = []
        for partition in partitions:
            leadership = context.leadership.get(partition)
            if leadership is not None and leadership.leader == replica:
                logger.error("replica %d of %s-%d cannot become NEW, being the leader", replica, *partition)
                continue
            if leadership is not None:
                self._requests.leader_and_isr([replica], partition, is_new=True)
            legal.append(partition)
        return legal

    def _become_online(self, replica: int, partitions: Iterable[Partition]) -> None:
        """Whoever comes back is told who leads; a new replica was told when it became new."""
        context = self._context
        for partition in partitions:
            if context.replica_state(partition, replica) is ReplicaState.NEW:
                context.assign(partition, context.assignment(partition).with_replica(replica))
            elif partition in context.leadership:
                self._requests.leader_and_isr([replica], partition)

    async def _become_offline(self, replica: int, partitions: list[Partition]) -> None:
        """The replica stops, if it can be reached; it leads no more and is not in sync, and the others are told."""
        context = self._context
        for partition in partitions:
            self._requests.stop_replica(replica, partition, delete=False)
        left = await self._leave_isr(replica, partitions)
        for partition in partitions:
            if context.is_given_up(partition):
                continue
            if partition in left:
                others = [each for each in context.replicas(partition) if each != replica]
                self._requests.leader_and_isr(others, partition)
            else:
                self._requests.update_metadata([partition])

    async def _leave_isr(self, replica: int, partitions: Iterable[Partition]) -> set[Partition]:
        """Take the replica out of the ISR wherever it is in; the partitions that were changed."""
        leadership = self._context.leadership
        changed: set[Partition] = set()
        remaining = list(partitions)
        for _attempt in range(CONFLICTS_MAX):
            changes = {
                partition: leadership[partition].without_replica(replica)
                for partition in remaining
                if partition in leadership and replica in leadership[partition].isr
            }
            written = await update_states(self._store, changes)
            leadership.update(written.done)
            changed.update(written.done)
            for partition, problem in written.failed.items():
                logger.error("replica %d stays in the ISR of %s-%d: %s", replica, *partition, problem)
            remaining = written.conflicts
            if not remaining:
                break
            leadership.update(await read_states(self._store, remaining))
        for partition in remaining:
            logger.error("replica %d stays in the ISR of %s-%d, which others change all the time", replica, *partition)
        return changed
