"""AddOffsetsToTxn: make a group's offsets part of a transaction, which is a partition of `__consumer_offsets`.

Before version 2 a fenced producer hears INVALID_PRODUCER_EPOCH.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.base.hashing import coordinator_partition
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.broker.producer_fencing import told_code
from moldau.cluster.internal_topics import CONSUMER_OFFSETS
from moldau.coordinator.transaction.transaction import ProducerIdAndEpoch
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

if TYPE_CHECKING:
    from moldau.broker.node import Node

PRODUCER_FENCED_VERSION = 2


@handles(ApiKey.ADD_OFFSETS_TO_TXN, "0-4")
def add_offsets_to_txn(node: Node, request: AddOffsetsToTxnRequest, call: Call) -> None:
    def done(outcome: ErrorCode | ApiError) -> None:
        code = outcome.code if isinstance(outcome, ApiError) else outcome
        call.respond(AddOffsetsToTxnResponse(error_code=told_code(call, code, since_version=PRODUCER_FENCED_VERSION)))

    offsets = CONSUMER_OFFSETS, coordinator_partition(request.group_id, node.groups.partitions)
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    call.park()
    node.transactions.add_partitions(request.transactional_id, producer, (offsets,), done)
