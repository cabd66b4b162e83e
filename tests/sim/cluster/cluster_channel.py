"""A client's way into a simulated cluster: each request goes to the broker that it is for.

Leaders, coordinators and the controller are asked for when they are needed, and forgotten when something goes wrong, so
that clients written for one broker work with many.
"""

from __future__ import annotations

from random import Random
from typing import Any

from moldau.base.errors import ConnectFailed, Disconnected
from moldau.net.channel import Channel
from moldau.net.client_options import ClientOptions
from moldau.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from moldau.protocol.messages.fetch import FetchRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from moldau.protocol.messages.offset_fetch import OffsetFetchRequest
from moldau.protocol.messages.produce import ProduceRequest
from moldau.protocol.schema import Message
from tests.sim.cluster.simulated_cluster import PORT, host_of

GROUP_TYPE, TRANSACTION_TYPE = 0, 1
METADATA_VERSION = 9
FIND_COORDINATOR_VERSION = 3


class ClusterChannel(Channel):
    """To be made on the client's host."""

    def __init__(self, brokers: int, random: Random, client_id: str) -> None:
        options = ClientOptions(
            client_id=client_id,
            request_timeout_ms=3_000,
            setup_timeout_ms=1_000,
            reconnect_backoff_max_ms=500,
            drawn_from=random,
        )
        super().__init__(host_of(0), PORT, options)
        self._random = random
        self._channels = {broker_id: Channel(host_of(broker_id), PORT, options) for broker_id in range(brokers)}
        self._leaders: dict[tuple[str, int], int] = {}
        self._leader_epochs: dict[
            tuple[str, int], int
        ] = {}  # the latest ever heard of; older news is no news (KIP-320)
        self._coordinators: dict[tuple[int, str], int] = {}
        self._controller = -1

    def forget(self) -> None:
        """Whoever was asked is not the right one, or may not be any more."""
        self._leaders.clear()
        self._coordinators.clear()
        self._controller = -1

    def close(self) -> None:
        super().close()
        for channel in self._channels.values():
            channel.close()

    async def request(self, request: Message, version: int | None = None, *, timeout_ms: float | None = None) -> Any:
        try:
            broker_id = await self._broker_for(request)
            answer = await self._channels[broker_id].request(request, version, timeout_ms=timeout_ms)
        except Disconnected:
            self.forget()
            raise
        if isinstance(request, FindCoordinatorRequest) and not answer.error_code:
            self._coordinators[request.key_type, request.key] = answer.node_id
        return answer

    async def _broker_for(self, request: Message) -> int:
        if isinstance(request, ProduceRequest):
            return await self._leader(request.topic_data[0].name, request.topic_data[0].partition_data[0].index)
        if isinstance(request, FetchRequest):
            topic, partition = request.topics[0].topic, request.topics[0].partitions[0]
            leader = await self._leader(topic, partition.partition)
            partition.current_leader_epoch = self._leader_epochs[topic, partition.partition]
            return leader
        if isinstance(request, FindCoordinatorRequest | MetadataRequest):
            return self._any()
        if isinstance(request, InitProducerIdRequest) and request.transactional_id is None:
            return self._any()
        if isinstance(request, AddPartitionsToTxnRequest):
            return await self._coordinator(TRANSACTION_TYPE, request.v3_and_below_transactional_id)
        if isinstance(request, OffsetFetchRequest):
            return await self._coordinator(
                GROUP_TYPE, request.groups[0].group_id if request.groups else request.group_id
            )
        if group_id := getattr(request, "group_id", None):
            is_addition = type(request).__name__ == "AddOffsetsToTxnRequest"
            if not is_addition:
                return await self._coordinator(GROUP_TYPE, group_id)
        if transactional_id := getattr(request, "transactional_id", None):
            return await self._coordinator(TRANSACTION_TYPE, transactional_id)
        return await self._find_controller()

    def _any(self) -> int:
        return self._random.choice(list(self._channels))

    async def _leader(self, topic: str, partition: int) -> int:
        if (topic, partition) not in self._leaders:
            for one in (await self._ask_metadata(topic)).topics[0].partitions:
                key = topic, one.partition_index
                if one.leader_epoch >= self._leader_epochs.get(key, -1):
                    self._leaders[key], self._leader_epochs[key] = one.leader_id, one.leader_epoch
        return self._known(self._leaders.get((topic, partition), -1), f"leader of {topic}-{partition}")

    async def _coordinator(self, key_type: int, key: str) -> int:
        if (key_type, key) not in self._coordinators:
            await self.request(FindCoordinatorRequest(key=key, key_type=key_type), FIND_COORDINATOR_VERSION)
        return self._known(self._coordinators.get((key_type, key), -1), f"coordinator of {key}")

    async def _find_controller(self) -> int:
        if self._controller < 0:
            self._controller = (await self._ask_metadata()).controller_id
        return self._known(self._controller, "controller")

    async def _ask_metadata(self, *topics: str) -> MetadataResponse:
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=topic) for topic in topics], allow_auto_topic_creation=False
        )
        answer: MetadataResponse = await self._channels[self._any()].request(request, METADATA_VERSION)
        return answer

    def _known(self, broker_id: int, whose: str) -> int:
        if broker_id not in self._channels:
            raise ConnectFailed(f"there is no {whose} now")
        return broker_id
