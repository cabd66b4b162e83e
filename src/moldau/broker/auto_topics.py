"""Topics that come into being because somebody asks for them: `auto.create.topics.enable`, and the coordinators' own.

Every broker creates such topics itself, by the same writes as CreateTopics. Clients ask for a missing topic again and
again until it is there; a creation that is under way is not begun a second time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final

from moldau.base.config.broker_config import BrokerConfig
from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.cluster.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from moldau.controller.topic_admin import BROKERS_DEFAULT, TopicAdmin
from moldau.controller.topic_names import problem_of_topic_name
from moldau.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig

_IN_FLIGHT_MAX: Final = 10_000

logger = logging.getLogger(__name__)


class AutoTopics:
    """`live_brokers` counts the brokers that replicas can be placed on."""

    def __init__(
        self, topics: TopicAdmin, *, config: Callable[[], BrokerConfig], live_brokers: Callable[[], int]
    ) -> None:
        self._topics = topics
        self._config = config
        self._live_brokers = live_brokers
        self._in_flight: set[str] = set()

    async def create(self, names: Iterable[str]) -> dict[str, ErrorCode]:
        """Create topics, and what a client that asked for each is to be told.

        That is LEADER_NOT_AVAILABLE for one that exists now, since its leader is not known yet, and
        UNKNOWN_TOPIC_OR_PARTITION for one that somebody else is creating.
        """
        codes: dict[str, ErrorCode] = {}
        mine: list[str] = []
        for name in names:
            if problem_of_topic_name(name) is not None:
                codes[name] = ErrorCode.INVALID_TOPIC_EXCEPTION
            elif name in self._in_flight or len(self._in_flight) >= _IN_FLIGHT_MAX:
                codes[name] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                self._in_flight.add(name)
                mine.append(name)
        try:
            created = await self._topics.create(map(self._new_topic, mine)) if mine else {}
        finally:
            self._in_flight.difference_update(mine)
        for name, outcome in created.items():
            if isinstance(outcome, ApiError) and outcome.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                logger.warning("topic %s was asked for and cannot be created: %s", name, outcome)
                codes[name] = outcome.code
            else:
                codes[name] = ErrorCode.LEADER_NOT_AVAILABLE
        return codes

    def _new_topic(self, name: str) -> CreatableTopic:
        config = self._config()
        if name == CONSUMER_OFFSETS:
            return CreatableTopic(
                name=name,
                num_partitions=config.integer("offsets.topic.num.partitions"),
                replication_factor=self._replication_factor("offsets.topic.replication.factor"),
                configs=_entries(
                    {
                        "cleanup.policy": "compact",
                        "segment.bytes": str(config.integer("offsets.topic.segment.bytes")),
                        "compression.type": "producer",
                    }
                ),
            )
        if name == TRANSACTION_STATE:
            return CreatableTopic(
                name=name,
                num_partitions=config.integer("transaction.state.log.num.partitions"),
                replication_factor=self._replication_factor("transaction.state.log.replication.factor"),
                configs=_entries(
                    {
                        "unclean.leader.election.enable": "false",
                        "compression.type": "uncompressed",
                        "cleanup.policy": "compact",
                        "min.insync.replicas": str(config.integer("transaction.state.log.min.isr")),
                        "segment.bytes": str(config.integer("transaction.state.log.segment.bytes")),
                    }
                ),
            )
        return CreatableTopic(name=name, num_partitions=BROKERS_DEFAULT, replication_factor=BROKERS_DEFAULT)

    def _replication_factor(self, setting: str) -> int:
        """What was set holds, and fails where there are too few brokers; the default of 3 is for three and more."""
        config = self._config()
        wanted = config.integer(setting)
        return wanted if setting in config.explicit else min(wanted, max(self._live_brokers(), 1))


def _entries(configs: dict[str, str]) -> list[CreatableTopicConfig]:
    return [CreatableTopicConfig(name=name, value=value) for name, value in configs.items()]
