"""IncrementalAlterConfigs: set, delete, append to and subtract from settings of topics and brokers (KIP-339).

Log levels of this broker are altered here as well (KIP-412); they are not stored. Version 1 is only flexible.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from moldau.base.config.schema import Scope
from moldau.base.config.scopes import schema_of
from moldau.base.error_codes import ErrorCode
from moldau.broker.broker_loggers import check_levels, set_levels
from moldau.broker.call import Call
from moldau.broker.config_entities import TOPICS
from moldau.broker.config_operations import ConfigOperation, OperationType, apply_operations
from moldau.broker.config_resources import (
    ResourceType,
    alter_each,
    altered_entity,
    check_broker_id,
    check_entries,
)
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
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


def refused(request: IncrementalAlterConfigsRequest, code: ErrorCode, message: str) -> IncrementalAlterConfigsResponse:
    results = [result(resource, code, message) for resource in request.resources]
    return IncrementalAlterConfigsResponse(responses=results)


@handles(ApiKey.INCREMENTAL_ALTER_CONFIGS, "0-1", on_error=refused)
async def incremental_alter_configs(
    node: Node, request: IncrementalAlterConfigsRequest, _call: Call
) -> IncrementalAlterConfigsResponse:
    async def alter(resource: AlterConfigsResource) -> None:
        operations = operations_of(resource)
        if resource.resource_type == ResourceType.BROKER_LOGGER:
            check_broker_id(node, resource.resource_name, "")
            check_levels(operations)
            if not request.validate_only:
                set_levels(operations)
            return
        entity = altered_entity(node, resource)
        schema = schema_of(Scope.TOPIC if entity.type == TOPICS else Scope.BROKER)
        change = partial(apply_operations, schema, operations=operations)
        await node.configs.alter(entity, change, validate_only=request.validate_only)

    results = [result(*one) for one in await alter_each(request.resources, alter)]
    return IncrementalAlterConfigsResponse(responses=results)


def operations_of(resource: AlterConfigsResource) -> list[ConfigOperation]:
    nulls = [
        config.name
        for config in resource.configs
        if config.value is None and config.config_operation != OperationType.DELETE
    ]
    check_entries((config.name for config in resource.configs), nulls)
    return [
        ConfigOperation(config.name, OperationType.of(config.config_operation), config.value or "")
        for config in resource.configs
    ]
