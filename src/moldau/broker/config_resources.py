"""What DescribeConfigs and the two ways to alter settings have in common: resources, and the rules for their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Protocol, TypeVar

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.config_entities import BROKERS, TOPICS, Entity
from moldau.cluster.znodes.layout import DEFAULT_ENTITY

if TYPE_CHECKING:
    from moldau.broker.node import Node


class ResourceType(IntEnum):
    """Numbered as on the wire."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32

    @classmethod
    def _missing_(cls, _value: object) -> ResourceType:
        return cls.UNKNOWN


class AlteredConfig(Protocol):
    name: str
    value: str | None


class AlteredResource(Protocol):
    """A resource in a request of either kind."""

    resource_type: int
    resource_name: str


R = TypeVar("R", bound=AlteredResource)


def check_broker_id(node: Node, name: str, expected: str) -> None:
    """The settings of a broker are read and altered by that broker alone."""
    try:
        broker_id = int(name)
    except ValueError:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}") from None
    if broker_id != node.broker_id:
        text = f"Unexpected broker id, expected {node.broker_id}{expected}, but received {name}"
        raise ApiError(ErrorCode.INVALID_REQUEST, text)


def altered_entity(node: Node, resource: AlteredResource) -> Entity:
    """What a resource is called in the store; the broker without a name stands for all brokers."""
    name = resource.resource_name
    match ResourceType(resource.resource_type):
        case ResourceType.TOPIC:
            if not name:
                raise ApiError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
            if name not in node.metadata.topics:
                raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
            return Entity(TOPICS, name)
        case ResourceType.BROKER:
            if not name:
                return Entity(BROKERS, DEFAULT_ENTITY)
            check_broker_id(node, name, "")
            return Entity(BROKERS, str(node.broker_id))
        case ResourceType.UNKNOWN | ResourceType.BROKER_LOGGER:
            raise ApiError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.resource_type}")
        case other:
            text = f"AlterConfigs is only supported for topics and brokers, but resource type is {other.name}"
            raise ApiError(ErrorCode.INVALID_REQUEST, text)


def check_entries(names: Iterable[str], nulls: Sequence[str]) -> None:
    if any(count > 1 for count in Counter(names).values()):
        raise ApiError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    if nulls:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")


async def alter_each(
    resources: Sequence[R], alter: Callable[[R], Awaitable[None]]
) -> list[tuple[R, ErrorCode, str | None]]:
    """Alter one resource after the other; what is wrong with one does not concern the next."""
    times = Counter((resource.resource_type, resource.resource_name) for resource in resources)
    results: list[tuple[R, ErrorCode, str | None]] = []
    for resource in resources:
        if times[resource.resource_type, resource.resource_name] > 1:
            results.append((resource, ErrorCode.INVALID_REQUEST, "Each resource must appear at most once."))
            continue
        try:
            await alter(resource)
        except ApiError as error:
            results.append((resource, error.code, error.message))
        else:
            results.append((resource, ErrorCode.NONE, None))
    return results
