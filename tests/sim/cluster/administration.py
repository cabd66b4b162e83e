"""What an operator does while everything else goes on: topics come and go, partitions move, leaders are elected."""

from __future__ import annotations

import asyncio
from random import Random

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import Disconnected
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest
from moldau.protocol.schema import Message
from tests.sim.cluster.cluster_channel import ClusterChannel
from tests.sim.cluster.workload import PARTITIONS, RETRY_S, TOPIC

TIMEOUT_MS = 5_000
REPLICAS = 3
PAUSES_S = (0.5, 2.0, 6.0)


class Administrator:
    """Asks once for whatever it wants; what comes of it is not its concern."""

    def __init__(self, brokers: int, random: Random) -> None:
        self._brokers = brokers
        self._random = random
        self._channel = ClusterChannel(brokers, random, "admin")
        self._topics: list[str] = []
        self.is_leaving = False
        self.asked: dict[str, int] = {}

    async def create_main_topic(self) -> None:
        """Asked for until it is there."""
        code = ErrorCode.NOT_CONTROLLER
        while code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
            try:
                answer = await self._channel.request(self._creation(TOPIC, PARTITIONS), 6)
                code = ErrorCode(answer.topics[0].error_code)
            except Disconnected:
                await asyncio.sleep(RETRY_S)

    async def run(self) -> None:
        while not self.is_leaving:
            await asyncio.sleep(self._random.choice(PAUSES_S))
            name, request, version = self._draw()
            self.asked[name] = self.asked.get(name, 0) + 1
            try:
                await self._channel.request(request, version)
            except Disconnected:
                await asyncio.sleep(RETRY_S)
        self._channel.close()

    def _draw(self) -> tuple[str, Message, int]:
        what = self._random.choice(("create", "delete", "reassign", "elect", "cancel"))
        if what == "create":
            self._topics.append(f"extra{self._random.randrange(3)}")
            return what, self._creation(self._topics[-1], 1), 6
        if what == "delete" and self._topics:
            name = self._topics.pop(self._random.randrange(len(self._topics)))
            return what, DeleteTopicsRequest(topic_names=[name], timeout_ms=TIMEOUT_MS), 5
        if what == "reassign" or (what == "cancel" and self._brokers > REPLICAS):
            replicas = self._random.sample(range(self._brokers), REPLICAS) if what == "reassign" else None
            partition = ReassignablePartition(partition_index=self._random.randrange(PARTITIONS), replicas=replicas)
            topics = [ReassignableTopic(name=TOPIC, partitions=[partition])]
            return what, AlterPartitionReassignmentsRequest(topics=topics, timeout_ms=TIMEOUT_MS), 0
        return "elect", ElectLeadersRequest(topic_partitions=None, timeout_ms=TIMEOUT_MS), 2

    def _creation(self, name: str, partitions: int) -> CreateTopicsRequest:
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=REPLICAS)
        return CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
