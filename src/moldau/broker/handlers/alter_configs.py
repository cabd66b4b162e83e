"""AlterConfigs: replace all settings of topics and brokers; what is not named goes back to its default.

Superseded by IncrementalAlterConfigs, since two clients that do this at the same time undo each other's work. No
version changed what it means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.broker.call import Call
from moldau.broker.config_resources import alter_each, altered_entity, check_entries
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

if TYPE_CHECKING:
    from moldau.broker.node import Node


def result(resource: AlterConfigsResource, code: ErrorCode, message: str | None) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=code,
        error_message=message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def refused(request: AlterConfigsRequest, code: ErrorCode, message: str) -> AlterConfigsResponse:
    return AlterConfigsResponse(responses=[result(resource, code, message) for resource in request.resources])


@handles(ApiKey.ALTER_CONFIGS, "0-2", on_error=refused)
async def alter_configs(node: Node, request: AlterConfigsRequest, _call: Call) -> AlterConfigsResponse:
    async def alter(resource: AlterConfigsResource) -> None:
        nulls = [config.name for config in resource.configs if config.value is None]
        check_entries((config.name for config in resource.configs), nulls)
        entries = {config.name: config.value for config in resource.configs if config.value is not None}
        entity = altered_entity(node, resource)
        await node.configs.alter(entity, lambda _current: entries, validate_only=request.validate_only)

    return AlterConfigsResponse(responses=[result(*one) for one in await alter_each(request.resources, alter)])
