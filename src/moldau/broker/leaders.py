"""Telling a client that came to the wrong broker who leads the partition, so that it need not ask (KIP-951)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.broker.call import Call
from moldau.protocol.messages import fetch, produce

if TYPE_CHECKING:
    from moldau.broker.node import Node

WRONG_LEADER = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def add_leader(
    node: Node,
    call: Call,
    response: fetch.FetchResponse | produce.ProduceResponse,
    topic: str,
    data: fetch.PartitionData | produce.PartitionProduceResponse,
) -> None:
    """Put the current leader of a refused partition into the answer, with its address on the listener in use."""
    if data.error_code not in WRONG_LEADER:
        return
    index = data.partition_index if isinstance(data, fetch.PartitionData) else data.index
    known = node.metadata.partition(topic, index)
    if known is None or known.leader < 0:
        return
    messages = fetch if isinstance(data, fetch.PartitionData) else produce
    data.current_leader = messages.LeaderIdAndEpoch(leader_id=known.leader, leader_epoch=known.leader_epoch)
    endpoint = node.metadata.endpoint(known.leader, call.answer.connection.listener)
    if endpoint is not None and all(one.node_id != known.leader for one in response.node_endpoints):
        rack = node.metadata.brokers[known.leader].rack
        told = messages.NodeEndpoint(node_id=known.leader, host=endpoint.host, port=endpoint.port, rack=rack)
        response.node_endpoints.append(told)
