"""WriteTxnMarkers: write the end of transactions into partitions that this broker leads, for their coordinator.

The answer waits until the markers are replicated. In `__consumer_offsets` the group coordinator writes them, since with
the marker the offsets of the transaction come into force, or are forgotten. A partition that is not here is
UNKNOWN_TOPIC_OR_PARTITION, and the coordinator looks for its leader again. Version 2 says of which version the
transaction is (KIP-1228): a marker of version 2 must have a raised epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.broker.marker_writing import refusal_of, write_markers
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse

if TYPE_CHECKING:
    from moldau.broker.node import Node


def refused(request: WriteTxnMarkersRequest, code: ErrorCode, _message: str) -> WriteTxnMarkersResponse:
    return refusal_of(request, code)


@handles(ApiKey.WRITE_TXN_MARKERS, "0-2", on_error=refused)
def write_txn_markers(node: Node, request: WriteTxnMarkersRequest, call: Call) -> None:
    call.park()
    write_markers(node, request, call.respond)
