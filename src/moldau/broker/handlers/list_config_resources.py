"""ListConfigResources: which resources have settings (KIP-1142).

v0, then called ListClientMetricsResources (KIP-1000), asks for metrics subscriptions; none can be made here yet. v1
asks for types, and for all of them by naming none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.config_resources import ResourceType
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

if TYPE_CHECKING:
    from moldau.broker.node import Node


@handles(ApiKey.LIST_CONFIG_RESOURCES, "0-1")
def list_config_resources(node: Node, request: ListConfigResourcesRequest, call: Call) -> ListConfigResourcesResponse:
    if call.version == 0:
        return ListConfigResourcesResponse()
    unknown = [number for number in request.resource_types if ResourceType(number) is ResourceType.UNKNOWN]
    if unknown:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"Unknown resource types {unknown}")
    wanted = request.resource_types or [one for one in ResourceType if one is not ResourceType.UNKNOWN]
    resources = [
        ConfigResource(resource_name=name, resource_type=number)
        for number in dict.fromkeys(wanted)
        for name in names_of(node, ResourceType(number))
    ]
    return ListConfigResourcesResponse(config_resources=resources)


def names_of(node: Node, resource_type: ResourceType) -> Iterable[str]:
    match resource_type:
        case ResourceType.TOPIC:
            return node.metadata.topics
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER:
            return map(str, node.metadata.brokers)
        case _:
            return ()
