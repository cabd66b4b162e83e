"""What a broker has while it is the controller: from an election that it won to its resignation.

Everything that a controller knows and works with is made when its term begins and forgotten when it ends, so that
nothing of an old epoch can leak into a new one. The operations are functions on a term, in files of their own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from moldau.base.config.broker_config import BrokerConfig
from moldau.base.config.listeners import inter_broker_listener
from moldau.base.config.topic_config import TopicConfig
from moldau.cluster.store import CoordinationSession, Watcher
from moldau.controller.answers import leader_and_isr_answered, stop_replica_answered
from moldau.controller.broker_changes import broker_came_back, broker_is_gone, tell_everything_anew
from moldau.controller.broker_channels import BrokerChannels
from moldau.controller.context import ControllerContext
from moldau.controller.election import Claim
from moldau.controller.fencing import FencedStore
from moldau.controller.partition_transitions import PartitionStateMachine
from moldau.controller.replica_transitions import ReplicaStateMachine
from moldau.controller.requests import ControlRequests

TermWork = Callable[["Term"], Awaitable[None]]


class Term:
    """`watcher` is to be left wherever the controller wants to hear of changes; `enqueue` makes an event of work,
    which is left out if the term is over when its turn comes."""

    def __init__(
        self,
        broker_id: int,
        claim: Claim,
        session: CoordinationSession,
        channels: BrokerChannels,
        *,
        config: Callable[[], BrokerConfig],
        topic_config: Callable[[str], Awaitable[TopicConfig]],
        watcher: Watcher,
        enqueue: Callable[[str, TermWork], None],
    ) -> None:
        self.broker_id = broker_id
        self.claim = claim
        self.config = config
        self.watcher = watcher
        self.enqueue = enqueue
        self.context = ControllerContext(claim.epoch)
        self.store = FencedStore(session, claim)
        self.requests = ControlRequests(
            broker_id,
            self.context,
            channels,
            lambda: inter_broker_listener(config()).name,
            on_leader_and_isr=partial(leader_and_isr_answered, self),
            on_stop_replica=partial(stop_replica_answered, self),
            on_overflow=self._broker_overflowed,
        )
        self.partitions = PartitionStateMachine(self.context, self.requests, self.store, topic_config)
        self.replicas = ReplicaStateMachine(self.context, self.requests, self.store)
        self._channels = channels
        channels.on_gone = self._broker_gone
        channels.on_back = self._broker_back

    def end(self) -> None:
        """Tell brokers nothing more."""
        self.requests.discard()
        self._channels.close_all()

    def _broker_gone(self, broker_id: int) -> None:
        self.enqueue(f"broker {broker_id} does not listen", partial(broker_is_gone, broker_id=broker_id))

    def _broker_back(self, broker_id: int) -> None:
        self.enqueue(f"broker {broker_id} listens again", partial(broker_came_back, broker_id=broker_id))

    def _broker_overflowed(self, broker_id: int) -> None:
        self.enqueue(f"broker {broker_id} does not keep up", partial(tell_everything_anew, broker_id=broker_id))
