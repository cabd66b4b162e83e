"""Settings of topics, brokers, loggers, groups and client metrics: describe, change, list what has any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from moldau.base.errors import MoldauError
from moldau.clients.admin.calls import Ask, Call, Route
from moldau.clients.admin.config_entries import (
    AlterConfigOp,
    Config,
    ConfigResource,
    ConfigResourceType,
    OpType,
    config_entry,
)
from moldau.clients.admin.operations import Operations
from moldau.clients.admin.results import Results, outcome
from moldau.clients.admin.routes import BrokerRoute
from moldau.clients.errors import check
from moldau.protocol.messages import alter_configs, incremental_alter_configs
from moldau.protocol.messages.alter_configs import AlterConfigsRequest
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from moldau.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from moldau.protocol.messages.list_config_resources import ListConfigResourcesRequest


class _ConfigRoute(BrokerRoute[ConfigResource]):
    """A broker's settings and loggers to that broker, everything else to any."""

    def __init__(self) -> None:
        super().__init__(lambda resource: int(resource.name))

    async def nodes(self, call: Call, items: list[ConfigResource]) -> Mapping[ConfigResource, int | MoldauError | None]:
        named = [item for item in items if _names_broker(item)]
        found: dict[ConfigResource, int | MoldauError | None] = dict.fromkeys(items)
        return found | dict(await super().nodes(call, named)) if named else found


class ConfigOperations(Operations):
    """What Admin does with settings."""

    async def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        *,
        keys: Iterable[str] | None = None,
        include_synonyms: bool = False,
        include_documentation: bool = False,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[ConfigResource, Config]:
        """All settings of each resource, or those in `keys`, by name.

        >>> orders = ConfigResource.topic("orders")
        >>> admin.describe_configs([orders])[orders]["retention.ms"].value
        '604800000'
        """
        wanted_keys = None if keys is None else list(keys)

        async def ask(
            call: Call, node_id: int | None, items: list[ConfigResource]
        ) -> Mapping[ConfigResource, Config | MoldauError]:
            request = DescribeConfigsRequest(
                resources=[
                    DescribeConfigsResource(
                        resource_type=item.type, resource_name=item.name, configuration_keys=wanted_keys
                    )
                    for item in items
                ],
                include_synonyms=include_synonyms,
                include_documentation=include_documentation,
            )
            answer = await call.ask(request, node_id)
            outcomes: dict[ConfigResource, Config | MoldauError] = {}
            for each in answer.results:
                item = ConfigResource(ConfigResourceType(each.resource_type), each.resource_name)
                entries = {one.name: config_entry(one, item) for one in each.configs}
                outcomes[item] = outcome(entries, each.error_code, each.error_message, of=item)
            return outcomes

        return await self._calls.each(
            "describing configs",
            resources,
            ask,
            route=_ConfigRoute(),
            timeout_s=timeout_s,
            raise_errors=raise_errors,
        )

    async def incremental_alter_configs(
        self,
        configs: Mapping[ConfigResource, Iterable[AlterConfigOp] | Mapping[str, str | None]],
        *,
        validate_only: bool = False,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[ConfigResource, None]:
        """Change some settings of each resource and leave the others alone; needs Kafka 2.3.

        >>> orders = ConfigResource.topic("orders")
        >>> _ = admin.incremental_alter_configs({orders: {"retention.ms": "1000", "segment.ms": None}})
        >>> _ = admin.incremental_alter_configs({orders: [AlterConfigOp("cleanup.policy", "compact", OpType.APPEND)]})

        In a plain mapping None deletes. Older brokers can only replace all settings: that is `alter_configs`, and it is
        never done in place of this.
        """

        async def ask(
            call: Call, node_id: int | None, items: list[ConfigResource]
        ) -> Mapping[ConfigResource, MoldauError | None]:
            request = IncrementalAlterConfigsRequest(
                resources=[
                    incremental_alter_configs.AlterConfigsResource(
                        resource_type=item.type,
                        resource_name=item.name,
                        configs=[
                            incremental_alter_configs.AlterableConfig(
                                name=each.name, config_operation=each.op_type, value=each.value
                            )
                            for each in _changes(configs[item])
                        ],
                    )
                    for item in items
                ],
                validate_only=validate_only,
            )
            return _altered((await call.ask(request, node_id)).responses)

        return await self._alter(configs, ask, timeout_s, raise_errors)

    async def alter_configs(
        self,
        configs: Mapping[ConfigResource, Mapping[str, str | None]],
        *,
        validate_only: bool = False,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[ConfigResource, None]:
        """Replace all settings of each resource: those that are not given are gone. For brokers before 2.3.

        >>> _ = admin.alter_configs({ConfigResource.topic("orders"): {"retention.ms": "1000"}})
        """

        async def ask(
            call: Call, node_id: int | None, items: list[ConfigResource]
        ) -> Mapping[ConfigResource, MoldauError | None]:
            request = AlterConfigsRequest(
                resources=[
                    alter_configs.AlterConfigsResource(
                        resource_type=item.type,
                        resource_name=item.name,
                        configs=[
                            alter_configs.AlterableConfig(name=name, value=value)
                            for name, value in configs[item].items()
                        ],
                    )
                    for item in items
                ],
                validate_only=validate_only,
            )
            return _altered((await call.ask(request, node_id)).responses)

        return await self._alter(configs, ask, timeout_s, raise_errors)

    async def _alter(
        self,
        configs: Iterable[ConfigResource],
        ask: Ask[ConfigResource, None],
        timeout_s: float | None,
        raise_errors: bool,
    ) -> Results[ConfigResource, None]:
        route: Route[ConfigResource] = _ConfigRoute()
        return await self._calls.each(
            "altering configs", configs, ask, route=route, timeout_s=timeout_s, raise_errors=raise_errors
        )

    async def list_config_resources(
        self, types: Iterable[ConfigResourceType] = (), *, timeout_s: float | None = None
    ) -> list[ConfigResource]:
        """What has settings of its own, of these types or of all (KIP-1142)."""
        wanted = [int(each) for each in types]

        async def ask(call: Call, _node_id: int | None) -> list[ConfigResource]:
            # The first version knows client metrics only, and asks for nothing else.
            if wanted == [ConfigResourceType.CLIENT_METRICS] and not await call.version_of(ListConfigResourcesRequest):
                request = ListConfigResourcesRequest()
            else:
                request = ListConfigResourcesRequest(resource_types=wanted)
            answer = await call.ask(request)
            check(answer.error_code)
            return [
                ConfigResource(ConfigResourceType(each.resource_type), each.resource_name)
                for each in answer.config_resources
            ]

        return await self._calls.one("listing config resources", ask, timeout_s=timeout_s)

    async def list_client_metrics_resources(self, *, timeout_s: float | None = None) -> list[str]:
        """The names of client metrics subscriptions (KIP-1000)."""
        listed = await self.list_config_resources([ConfigResourceType.CLIENT_METRICS], timeout_s=timeout_s)
        return [resource.name for resource in listed]


def _names_broker(resource: ConfigResource) -> bool:
    kinds = (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER)
    return resource.type in kinds and resource.name.isdigit()


def _changes(given: Iterable[AlterConfigOp] | Mapping[str, str | None]) -> list[AlterConfigOp]:
    if isinstance(given, Mapping):
        return [
            AlterConfigOp(name, value, OpType.DELETE if value is None else OpType.SET) for name, value in given.items()
        ]
    return list(given)


def _altered(
    responses: Iterable[
        alter_configs.AlterConfigsResourceResponse | incremental_alter_configs.AlterConfigsResourceResponse
    ],
) -> dict[ConfigResource, MoldauError | None]:
    outcomes: dict[ConfigResource, MoldauError | None] = {}
    for each in responses:
        item = ConfigResource(ConfigResourceType(each.resource_type), each.resource_name)
        outcomes[item] = outcome(None, each.error_code, each.error_message, of=item)
    return outcomes
