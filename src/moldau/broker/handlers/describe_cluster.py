"""DescribeCluster: the brokers, the controller and the id of the cluster (KIP-700).

v1 says which kind of node it means to ask (KIP-919): here there are only brokers. v2 may ask for fenced brokers
(KIP-1073): a broker that is not alive is not known here, and none of the others is fenced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.authorized_operations import CLUSTER_OPERATIONS
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.cluster.metadata_answers import OPERATIONS_NOT_ASKED
from moldau.cluster.metadata_cache import NO_CONTROLLER
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

if TYPE_CHECKING:
    from moldau.broker.node import Node

BROKERS: Final = 1
CONTROLLERS: Final = 2


@handles(ApiKey.DESCRIBE_CLUSTER, "0-2")
def describe_cluster(node: Node, request: DescribeClusterRequest, call: Call) -> DescribeClusterResponse:
    if request.endpoint_type == CONTROLLERS:
        text = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
        raise ApiError(ErrorCode.MISMATCHED_ENDPOINT_TYPE, text)
    if request.endpoint_type != BROKERS:
        text = f"Unsupported endpoint type {request.endpoint_type}"
        raise ApiError(ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, text)
    brokers = [
        DescribeClusterBroker(broker_id=broker.node_id, host=broker.host, port=broker.port, rack=broker.rack)
        for broker in node.metadata.answers.brokers(call.answer.connection.listener)
    ]
    controller_id = node.metadata.controller_id
    return DescribeClusterResponse(
        cluster_id=node.cluster_id,
        controller_id=controller_id if any(one.broker_id == controller_id for one in brokers) else NO_CONTROLLER,
        brokers=brokers,
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else OPERATIONS_NOT_ASKED
        ),
    )
