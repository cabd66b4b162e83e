"""Partitions change their state, and get leaders.

Becoming new, offline or non-existent is a matter of the context alone. Becoming online means to have a leader: a new
partition gets its first one with its znode; another one gets a leader selected for the reason at hand, if anybody can
lead. What was written is told to the replicas, and as metadata to all brokers, in one batch.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable

from moldau.base.config.topic_config import TopicConfig
from moldau.base.errors import ConfigError
from moldau.cluster.errors import MalformedZnode
from moldau.controller.context import ControllerContext, Partition
from moldau.controller.fencing import FencedStore, gather_in_turns
from moldau.controller.leader_selection import Candidates, Reason, Selection, needs_unclean, select
from moldau.controller.leadership import Leadership
from moldau.controller.partition_states import PREVIOUS_PARTITION_STATES, PartitionState
from moldau.controller.partition_writes import CONFLICTS_MAX, create_states, read_states, update_states
from moldau.controller.requests import ControlRequests

logger = logging.getLogger(__name__)

REFUSALS_LOGGED_MAX = 20
"""Of one event: a broker that goes may take thousands of partitions along."""

Elected = dict[Partition, Leadership]
Refused = dict[Partition, str]


class PartitionStateMachine:
    def __init__(
        self,
        context: ControllerContext,
        requests: ControlRequests,
        store: FencedStore,
        topic_config: Callable[[str], Awaitable[TopicConfig]],
    ) -> None:
        self._context = context
        self._requests = requests
        self._store = store
        self._topic_config = topic_config

    async def start(self) -> None:
        """Begin with what the store knows; elect leaders where they are missing."""
        context = self._context
        for partition in context.partitions():
            leadership = context.leadership.get(partition)
            if leadership is None:
                state = PartitionState.NEW
            elif context.is_online(partition, leadership.leader):
                state = PartitionState.ONLINE
            else:
                state = PartitionState.OFFLINE
            context.partition_states[partition] = state
        await self.elect_where_missing()

    def become(self, partitions: Iterable[Partition], target: PartitionState) -> None:
        """Enter a state that has no effect on brokers."""
        assert target is not PartitionState.ONLINE, "being online takes a leader"
        states = self._context.partition_states
        for partition in self._legal(partitions, target):
            if target is PartitionState.NON_EXISTENT:
                states.pop(partition, None)
            else:
                states[partition] = target

    async def elect_where_missing(self, topic: str | None = None) -> None:
        """A broker came or went, or a setting changed: try all partitions that have no leader, or one topic's."""
        context = self._context
        leaderless = (PartitionState.NEW, PartitionState.OFFLINE)
        candidates = context.partitions() if topic is None else context.partitions_of([topic])
        await self.become_online(
            [
                partition
                for partition in candidates
                if context.partition_state(partition) in leaderless and not context.is_given_up(partition)
            ],
            Reason.OFFLINE,
        )

    async def become_online(self, partitions: Iterable[Partition], reason: Reason) -> tuple[Elected, Refused]:
        """Give partitions leaders; what was elected, and why the others were not."""
        legal = list(self._legal(partitions, PartitionState.ONLINE))
        refused: Refused = {}
        new = [partition for partition in legal if self._context.partition_state(partition) is PartitionState.NEW]
        others = [
            partition for partition in legal if self._context.partition_state(partition) is not PartitionState.NEW
        ]
        elected = await self._create(new, refused) if new else {}
        if others:
            elected.update(await self._elect(others, reason, refused))
        self._requests.send()
        level = logging.INFO if reason is Reason.PREFERRED else logging.WARNING
        for partition, problem in list(refused.items())[:REFUSALS_LOGGED_MAX]:
            logger.log(level, "%s-%d: %s", *partition, problem)
        if len(refused) > REFUSALS_LOGGED_MAX:
            logger.log(level, "and %d other partitions likewise", len(refused) - REFUSALS_LOGGED_MAX)
        return elected, refused

    def _legal(self, partitions: Iterable[Partition], target: PartitionState) -> Iterable[Partition]:
        previous = PREVIOUS_PARTITION_STATES[target]
        for partition in partitions:
            state = self._context.partition_state(partition)
            if state in previous:
                yield partition
            else:
                logger.error("partition %s-%d cannot become %s, being %s", *partition, target.name, state.name)

    # -- the first leader

    async def _create(self, partitions: list[Partition], refused: Refused) -> Elected:
        context = self._context
        states: dict[Partition, Leadership] = {}
        for partition in partitions:
            online = context.online(partition)
            if online:
                states[partition] = Leadership.first(online, context.epoch)
            else:
                refused[partition] = f"no leader: none of the replicas {list(context.replicas(partition))} is online"
        written = await create_states(self._store, states)
        for partition, leadership in written.done.items():
            self._lead(partition, leadership, leadership.isr, is_new=True)
        refused.update({partition: f"no leader: {problem}" for partition, problem in written.failed.items()})
        return written.done

    def _lead(
        self, partition: Partition, leadership: Leadership, recipients: Iterable[int], *, is_new: bool = False
    ) -> None:
        self._context.leadership[partition] = leadership
        self._context.partition_states[partition] = PartitionState.ONLINE
        self._requests.leader_and_isr(recipients, partition, is_new=is_new)

    # -- another leader

    async def _elect(self, partitions: list[Partition], reason: Reason, refused: Refused) -> Elected:
        elected: Elected = {}
        remaining = partitions
        for _attempt in range(CONFLICTS_MAX):
            selections = await self._select(remaining, reason, refused)
            changes = {partition: selection.leadership for partition, selection in selections.items()}
            written = await update_states(self._store, changes)
            for partition, leadership in written.done.items():
                self._lead(partition, leadership, selections[partition].recipients)
            elected.update(written.done)
            refused.update(written.failed)
            remaining = written.conflicts
            if not remaining:
                break
            self._context.leadership.update(await read_states(self._store, remaining))
        refused.update(dict.fromkeys(remaining, "its state is changed by others all the time"))
        return elected

    async def _select(
        self, partitions: list[Partition], reason: Reason, refused: Refused
    ) -> dict[Partition, Selection]:
        candidates = {partition: self._candidates(partition) for partition in partitions}
        unclean = await self._topics_with_unclean_election(candidates) if reason is Reason.OFFLINE else frozenset()
        selections = {}
        for partition, asked in candidates.items():
            allow_unclean = reason is Reason.UNCLEAN or partition[0] in unclean
            selection = select(reason, asked, unclean=allow_unclean)
            if selection is None:
                refused[partition] = (
                    f"no leader for reason {reason.name}: replicas {list(asked.assignment.replicas)}, "
                    f"in sync {list(asked.leadership.isr)}, online {list(asked.online)}"
                )
            else:
                selections[partition] = selection
                if selection.leadership.is_recovering and not asked.leadership.is_recovering:
                    logger.warning(
                        "unclean election: %s-%d is led by %d now; in sync were %s, and what only they had is lost",
                        *partition,
                        selection.leadership.leader,
                        list(asked.leadership.isr),
                    )
        return selections

    def _candidates(self, partition: Partition) -> Candidates:
        context = self._context
        online = context.online(partition)
        shutting_down = set(context.online(partition, or_shutting_down=True)) - set(online)
        return Candidates(context.assignment(partition), context.leadership[partition], online, shutting_down)

    async def _topics_with_unclean_election(self, candidates: dict[Partition, Candidates]) -> frozenset[str]:
        """Asked only for topics that have a partition without an in-sync replica that lives."""
        topics = list({partition[0]: None for partition, asked in candidates.items() if needs_unclean(asked)})
        return frozenset(
            topic
            for topic, allows in zip(topics, await gather_in_turns(self._allows_unclean, topics), strict=True)
            if allows
        )

    async def _allows_unclean(self, topic: str) -> bool:
        try:
            return (await self._topic_config(topic)).boolean("unclean.leader.election.enable")
        except (ConfigError, MalformedZnode) as error:
            logger.warning(
                "the configuration of topic %s cannot be read, so no unclean leader is elected: %s", topic, error
            )
            return False
