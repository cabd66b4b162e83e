"""DescribeTransactions: how far the transactions of some transactional ids are (KIP-664)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)

if TYPE_CHECKING:
    from moldau.broker.node import Node


def refused(request: DescribeTransactionsRequest, code: ErrorCode, _message: str) -> DescribeTransactionsResponse:
    states = [TransactionState(error_code=code, transactional_id=each) for each in request.transactional_ids]
    return DescribeTransactionsResponse(transaction_states=states)


@handles(ApiKey.DESCRIBE_TRANSACTIONS, "0", on_error=refused)
def describe_transactions(
    node: Node, request: DescribeTransactionsRequest, _call: Call
) -> DescribeTransactionsResponse:
    states = [_describe(node, transactional_id) for transactional_id in request.transactional_ids]
    return DescribeTransactionsResponse(transaction_states=states)


def _describe(node: Node, transactional_id: str) -> TransactionState:
    try:
        found = node.transactions.transaction(transactional_id)
    except ApiError as error:
        return TransactionState(error_code=error.code, transactional_id=transactional_id)
    topics: dict[str, TopicData] = {}
    for topic, partition in sorted(found.partitions):
        topics.setdefault(topic, TopicData(topic=topic)).partitions.append(partition)
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=found.state.title,
        transaction_timeout_ms=found.timeout_ms,
        transaction_start_time_ms=found.started_ms,
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        topics=list(topics.values()),
    )
