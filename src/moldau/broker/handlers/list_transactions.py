"""ListTransactions: the transactions that this broker coordinates (KIP-664).

Version 1 lists those that take longer than a duration (KIP-994), version 2 those whose id matches a pattern
(KIP-1152). States that are not known are named in the answer, and nothing is in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.coordinator.transaction.listing import TransactionFilter
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)

if TYPE_CHECKING:
    from moldau.broker.node import Node


@handles(ApiKey.LIST_TRANSACTIONS, "0-2")
def list_transactions(node: Node, request: ListTransactionsRequest, _call: Call) -> ListTransactionsResponse:
    wanted = TransactionFilter.of(
        request.state_filters, request.producer_id_filters, request.duration_filter, request.transactional_id_pattern
    )
    states = [
        TransactionState(
            transactional_id=found.transactional_id,
            producer_id=found.producer_id,
            transaction_state=found.state.title,
        )
        for found in node.transactions.transactions(wanted)
    ]
    return ListTransactionsResponse(unknown_state_filters=list(wanted.unknown_states), transaction_states=states)
