"""Brokers that do nothing but obey their controller, and remember what they were told.

They stand behind the controller's seam to the network: requests arrive in order, one at a time, after a little virtual
time, as often as it takes. A broker can be out of reach, have directories that failed, or be unable to delete.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from moldau.base.error_codes import ErrorCode
from moldau.cluster.znodes.brokers import Endpoint
from moldau.controller.broker_channels import OnPresence, OnResponse
from moldau.controller.context import Partition
from moldau.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from moldau.protocol.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
)
from moldau.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from moldau.protocol.schema import Message

LATENCY_S = 0.001
RETRY_S = 0.1


class FakeBroker:
    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.broker_epoch = -1
        self.is_reachable = True
        self.controller_epoch = 0
        self.requests: list[Message] = []
        """All that were obeyed; a test may clear it."""
        self.replicas: dict[Partition, LeaderAndIsrPartitionState] = {}
        self.metadata: dict[Partition, UpdateMetadataPartitionState] = {}
        self.live_brokers: list[int] = []
        self.deleted: list[Partition] = []
        self.failed_directories: set[Partition] = set()
        self.cannot_delete: set[Partition] = set()

    def restart(self) -> None:
        """Forget everything but what is on disk."""
        self.controller_epoch = 0
        self.metadata.clear()
        self.replicas.clear()
        self.requests.clear()

    def leads(self) -> list[Partition]:
        return sorted(partition for partition, state in self.replicas.items() if state.leader == self.broker_id)

    def heard(self, kind: type[Message]) -> list[Any]:
        return [request for request in self.requests if isinstance(request, kind)]

    def answer(self, request: Message) -> Message:
        assert isinstance(request, LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest)
        code = self._refusal(request)
        if not code:
            self.controller_epoch = request.controller_epoch
            self.requests.append(request)
        if isinstance(request, LeaderAndIsrRequest):
            return self._lead(request, code)
        if isinstance(request, UpdateMetadataRequest):
            return self._learn(request, code)
        return self._stop(request, code)

    def _refusal(self, request: LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest) -> ErrorCode:
        if request.controller_epoch < self.controller_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        if request.broker_epoch < self.broker_epoch:
            return ErrorCode.STALE_BROKER_EPOCH
        return ErrorCode.NONE

    def _lead(self, request: LeaderAndIsrRequest, code: ErrorCode) -> LeaderAndIsrResponse:
        response = LeaderAndIsrResponse(error_code=code)
        for topic in () if code else request.topic_states:
            errors = LeaderAndIsrTopicError(topic_id=topic.topic_id)
            response.topics.append(errors)
            for state in topic.partition_states:
                partition = topic.topic_name, state.partition_index
                error = ErrorCode.NONE
                known = self.replicas.get(partition)
                assert self.broker_id in state.replicas
                if partition in self.failed_directories:
                    error = ErrorCode.KAFKA_STORAGE_ERROR
                elif known is not None and state.leader_epoch < known.leader_epoch:
                    error = ErrorCode.STALE_CONTROLLER_EPOCH
                else:
                    assert known is None or state.leader_epoch > known.leader_epoch or state.leader == known.leader
                    self.replicas[partition] = state
                errors.partition_errors.append(
                    LeaderAndIsrPartitionError(partition_index=state.partition_index, error_code=error)
                )
        return response

    def _learn(self, request: UpdateMetadataRequest, code: ErrorCode) -> UpdateMetadataResponse:
        if not code:
            self.live_brokers = sorted(broker.id for broker in request.live_brokers)
            for topic in request.topic_states:
                for state in topic.partition_states:
                    partition = topic.topic_name, state.partition_index
                    if state.leader == -2:
                        self.metadata.pop(partition, None)
                    else:
                        self.metadata[partition] = state
        return UpdateMetadataResponse(error_code=code)

    def _stop(self, request: StopReplicaRequest, code: ErrorCode) -> StopReplicaResponse:
        response = StopReplicaResponse(error_code=code)
        for topic in () if code else request.topic_states:
            for state in topic.partition_states:
                partition = topic.topic_name, state.partition_index
                error = ErrorCode.NONE
                if state.delete_partition and partition in self.cannot_delete:
                    error = ErrorCode.KAFKA_STORAGE_ERROR
                elif state.delete_partition:
                    self.replicas.pop(partition, None)
                    self.deleted.append(partition)
                response.partition_errors.append(
                    StopReplicaPartitionError(topic_name=partition[0], partition_index=partition[1], error_code=error)
                )
        return response


class FakeChannels:
    """One controller's ways to the brokers."""

    def __init__(self, brokers: dict[int, FakeBroker], queued_max: int = 10_000) -> None:
        self._brokers = brokers
        self._queued_max = queued_max
        self._queues: dict[int, deque[tuple[Message, OnResponse]]] = {}
        self.on_gone: OnPresence = lambda _broker_id: None
        self.on_back: OnPresence = lambda _broker_id: None

    def open(self, broker_id: int, endpoint: Endpoint) -> None:
        assert endpoint.listener == "PLAINTEXT"
        self._queues.setdefault(broker_id, deque())

    def close(self, broker_id: int) -> None:
        self._queues.pop(broker_id, None)

    def close_all(self) -> None:
        self._queues.clear()

    def send(self, broker_id: int, request: Message, on_response: OnResponse) -> bool:
        queue = self._queues.get(broker_id)
        if queue is None:
            return True
        if len(queue) >= self._queued_max:
            queue.clear()
            return False
        queue.append((request, on_response))
        if len(queue) == 1:
            asyncio.get_running_loop().call_later(LATENCY_S, self._deliver, broker_id, queue)
        return True

    def _deliver(self, broker_id: int, queue: deque[tuple[Message, OnResponse]]) -> None:
        if self._queues.get(broker_id) is not queue or not queue:
            return  # closed meanwhile
        loop = asyncio.get_running_loop()
        broker = self._brokers[broker_id]
        if not broker.is_reachable:
            loop.call_later(RETRY_S, self._deliver, broker_id, queue)
            return
        request, on_response = queue.popleft()
        on_response(broker.answer(request))
        if queue:
            loop.call_later(LATENCY_S, self._deliver, broker_id, queue)
