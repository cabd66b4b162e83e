"""DescribeCluster (60): the brokers, the controller and the id of a cluster (KIP-700).

Flexible from the start.

v1: the kind of endpoint that is asked (KIP-919); request + endpoint_type; answer + endpoint_type.
v2: fenced brokers (KIP-1073); request + include_fenced_brokers; answer + is_fenced.
"""

from __future__ import annotations

from moldau.protocol.schema import Bool, Int8, Int16, Int32, Message, String, Struct, message, struct, wire


@message(key=60, versions="0-2", flexible="0+")
class DescribeClusterRequest(Message):
    include_cluster_authorized_operations: Bool = False
    endpoint_type: Int8 = wire("1+", default=1)
    include_fenced_brokers: Bool = wire("2+", default=False)


@struct
class DescribeClusterBroker(Struct):
    broker_id: Int32 = 0
    host: String = ""
    port: Int32 = 0
    rack: String | None = wire(default=None, null="0+")
    is_fenced: Bool = wire("2+", default=False)


@message(key=60, versions="0-2", flexible="0+")
class DescribeClusterResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    endpoint_type: Int8 = wire("1+", default=1)
    cluster_id: String = ""
    controller_id: Int32 = -1
    brokers: list[DescribeClusterBroker] = wire(default=[])
    cluster_authorized_operations: Int32 = -2147483648
