"""The requests by which brokers learn what was decided: LeaderAndIsr, UpdateMetadata, StopReplica.

One event decides about many partitions, and each broker shall hear of all of them at once. So what is to be said is
collected, and `send` makes at most one request of each kind for a broker: who leads first, then what the cluster looks
like, then what to stop. All brokers get the same metadata; whoever is told of a leader is preceded by nobody.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from moldau.cluster.znodes.brokers import Endpoint
from moldau.controller.broker_channels import BrokerChannels
from moldau.controller.context import ControllerContext, LiveBroker, Partition
from moldau.controller.leadership import Leadership
from moldau.protocol.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicState,
)
from moldau.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    StopReplicaTopicState,
)
from moldau.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
    UpdateMetadataTopicState,
)
from moldau.protocol.schema import ZERO_UUID

logger = logging.getLogger(__name__)

EPOCH_DURING_DELETE = -2
"""Stops a replica whatever its epoch: its topic is being deleted (KIP-570)."""
NO_EPOCH = -1
SECURITY_PROTOCOL_IDS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}

State = TypeVar("State")
OnLeaderAndIsr = Callable[[int, LeaderAndIsrResponse], None]
OnStopReplica = Callable[[int, StopReplicaResponse, frozenset[Partition]], None]
"""The broker, its answer, and the partitions that it was to delete."""


class ControlRequests:
    def __init__(
        self,
        controller_id: int,
        context: ControllerContext,
        channels: BrokerChannels,
        listener: Callable[[], str],
        *,
        on_leader_and_isr: OnLeaderAndIsr,
        on_stop_replica: OnStopReplica,
        on_overflow: Callable[[int], None],
    ) -> None:
        self._controller_id = controller_id
        self._context = context
        self._channels = channels
        self._listener = listener
        self._on_leader_and_isr = on_leader_and_isr
        self._on_stop_replica = on_stop_replica
        self._on_overflow = on_overflow
        self._leaders: dict[int, dict[Partition, LeaderAndIsrPartitionState]] = {}
        self._stops: dict[int, dict[Partition, StopReplicaPartitionState]] = {}
        self._metadata: dict[Partition, UpdateMetadataPartitionState] = {}
        self._metadata_for: set[int] = set()

    # -- channels

    def open_channel(self, broker_id: int) -> None:
        endpoint = self._endpoint(self._context.brokers[broker_id])
        if endpoint is None:
            logger.error("broker %d has no listener %s: it cannot be told anything", broker_id, self._listener())
        else:
            self._channels.open(broker_id, endpoint)

    def close_channel(self, broker_id: int) -> None:
        self._channels.close(broker_id)

    def _endpoint(self, broker: LiveBroker) -> Endpoint | None:
        name = self._listener()
        return next((each for each in broker.registration.endpoints if each.listener == name), None)

    # -- collecting

    def leader_and_isr(self, brokers: Iterable[int], partition: Partition, *, is_new: bool = False) -> None:
        """Tell brokers that have a replica who leads it, and everybody what clients shall know of it."""
        leadership, assignment = self._context.leadership[partition], self._context.assignment(partition)
        state = LeaderAndIsrPartitionState(
            topic_name=partition[0],
            partition_index=partition[1],
            controller_epoch=leadership.controller_epoch,
            leader=leadership.leader,
            leader_epoch=leadership.leader_epoch,
            isr=list(leadership.isr),
            partition_epoch=leadership.partition_epoch,
            replicas=list(assignment.replicas),
            adding_replicas=list(assignment.adding),
            removing_replicas=list(assignment.removing),
            is_new=is_new,
            leader_recovery_state=int(leadership.is_recovering),
        )
        for broker in brokers:
            self._leaders.setdefault(broker, {})[partition] = state
        self.update_metadata((partition,))

    def stop_replica(self, broker: int, partition: Partition, *, delete: bool) -> None:
        """Tell a broker to neither lead nor follow a partition any more, and perhaps to delete it."""
        self._stops.setdefault(broker, {})[partition] = StopReplicaPartitionState(
            partition_index=partition[1], leader_epoch=self._stop_epoch(partition), delete_partition=delete
        )

    def _stop_epoch(self, partition: Partition) -> int:
        if self._context.is_to_be_deleted(partition[0]):
            return EPOCH_DURING_DELETE
        leadership = self._context.leadership.get(partition)
        return NO_EPOCH if leadership is None else leadership.leader_epoch

    def update_metadata(self, partitions: Iterable[Partition], brokers: Iterable[int] | None = None) -> None:
        """Tell all brokers, or some, which brokers there are and who leads these partitions."""
        context = self._context
        self._metadata_for.update(context.brokers if brokers is None else brokers)
        for partition in partitions:
            leadership = context.leadership.get(partition)
            if leadership is not None:
                self._metadata[partition] = self._metadata_of(partition, leadership)

    def _metadata_of(self, partition: Partition, leadership: Leadership) -> UpdateMetadataPartitionState:
        context = self._context
        if context.is_to_be_deleted(partition[0]):
            leadership = leadership.during_delete()
        replicas = context.replicas(partition)
        return UpdateMetadataPartitionState(
            topic_name=partition[0],
            partition_index=partition[1],
            controller_epoch=leadership.controller_epoch,
            leader=leadership.leader,
            leader_epoch=leadership.leader_epoch,
            isr=list(leadership.isr),
            zk_version=leadership.partition_epoch,
            replicas=list(replicas),
            offline_replicas=[each for each in replicas if not context.is_online(partition, each)],
        )

    # -- sending

    def send(self) -> None:
        """Send what was collected; brokers that are gone are left out."""
        leaders, metadata, metadata_for, stops = self._leaders, self._metadata, self._metadata_for, self._stops
        self.discard()
        for broker, states in leaders.items():
            self._send_leader_and_isr(broker, states)
        if metadata_for:
            self._send_update_metadata(metadata_for, metadata)
        for broker, stop_states in stops.items():
            self._send_stop_replica(broker, stop_states)

    def discard(self) -> None:
        self._leaders, self._stops, self._metadata, self._metadata_for = {}, {}, {}, set()

    def _send_leader_and_isr(self, broker_id: int, states: Mapping[Partition, LeaderAndIsrPartitionState]) -> None:
        brokers = self._context.brokers
        if broker_id not in brokers:
            return
        leaders = {state.leader for state in states.values()} & brokers.keys()
        live_leaders = []
        for leader in sorted(leaders):
            endpoint = self._endpoint(brokers[leader])
            if endpoint is not None:
                live_leaders.append(
                    LeaderAndIsrLiveLeader(broker_id=leader, host_name=endpoint.host, port=endpoint.port)
                )
        topic_ids = self._context.topic_ids
        request = LeaderAndIsrRequest(
            controller_id=self._controller_id,
            controller_epoch=self._context.epoch,
            broker_epoch=brokers[broker_id].epoch,
            topic_states=[
                LeaderAndIsrTopicState(
                    topic_name=topic, topic_id=topic_ids.get(topic, ZERO_UUID), partition_states=of_topic
                )
                for topic, of_topic in _by_topic(states).items()
            ],
            live_leaders=live_leaders,
        )
        if not self._channels.send(broker_id, request, lambda answer: self._on_leader_and_isr(broker_id, answer)):
            self._on_overflow(broker_id)

    def _send_update_metadata(
        self, broker_ids: Iterable[int], states: Mapping[Partition, UpdateMetadataPartitionState]
    ) -> None:
        topic_ids, brokers = self._context.topic_ids, self._context.brokers
        topic_states = [
            UpdateMetadataTopicState(
                topic_name=topic, topic_id=topic_ids.get(topic, ZERO_UUID), partition_states=of_topic
            )
            for topic, of_topic in _by_topic(states).items()
        ]
        live_brokers = [_metadata_of_broker(broker_id, broker) for broker_id, broker in sorted(brokers.items())]
        for broker_id in sorted(brokers.keys() & set(broker_ids)):
            request = UpdateMetadataRequest(
                controller_id=self._controller_id,
                controller_epoch=self._context.epoch,
                broker_epoch=brokers[broker_id].epoch,
                topic_states=topic_states,
                live_brokers=live_brokers,
            )
            if not self._channels.send(broker_id, request, _metadata_answered):
                self._on_overflow(broker_id)

    def _send_stop_replica(self, broker_id: int, states: Mapping[Partition, StopReplicaPartitionState]) -> None:
        brokers = self._context.brokers
        if broker_id not in brokers:
            return
        deleted = frozenset(partition for partition, state in states.items() if state.delete_partition)
        request = StopReplicaRequest(
            controller_id=self._controller_id,
            controller_epoch=self._context.epoch,
            broker_epoch=brokers[broker_id].epoch,
            topic_states=[
                StopReplicaTopicState(topic_name=topic, partition_states=of_topic)
                for topic, of_topic in _by_topic(states).items()
            ],
        )
        if not self._channels.send(
            broker_id, request, lambda answer: self._on_stop_replica(broker_id, answer, deleted)
        ):
            self._on_overflow(broker_id)


def _by_topic(states: Mapping[Partition, State]) -> dict[str, list[State]]:
    grouped: dict[str, list[State]] = {}
    for (topic, _index), state in states.items():
        grouped.setdefault(topic, []).append(state)
    return grouped


def _metadata_of_broker(broker_id: int, broker: LiveBroker) -> UpdateMetadataBroker:
    registration = broker.registration
    return UpdateMetadataBroker(
        id=broker_id,
        endpoints=[
            UpdateMetadataEndpoint(
                port=each.port,
                host=each.host,
                listener=each.listener,
                security_protocol=SECURITY_PROTOCOL_IDS[each.security_protocol],
            )
            for each in registration.endpoints
            if each.security_protocol in SECURITY_PROTOCOL_IDS
        ],
        rack=registration.rack,
    )


def _metadata_answered(answer: UpdateMetadataResponse) -> None:
    if answer.error_code:
        logger.warning("a broker refused metadata with error %d", answer.error_code)
