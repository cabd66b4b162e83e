"""Access control lists: create, describe, delete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from moldau.base.errors import MoldauError
from moldau.clients.admin.acl_operations import AclOperation
from moldau.clients.admin.calls import Call
from moldau.clients.admin.operations import Operations, ProtocolEnum
from moldau.clients.admin.results import Results, outcome
from moldau.clients.admin.routes import ControllerRoute
from moldau.clients.errors import check
from moldau.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from moldau.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from moldau.protocol.messages.describe_acls import DescribeAclsRequest


class ResourceType(ProtocolEnum):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(ProtocolEnum):
    """How the name of a resource is meant (KIP-290); ANY and MATCH are for filters."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclPermissionType(ProtocolEnum):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class ResourcePattern(NamedTuple):
    """Resources that a rule is about: one by name, all with a prefix, or "*"."""

    resource_type: ResourceType
    name: str
    pattern_type: PatternType = PatternType.LITERAL


class AccessControlEntry(NamedTuple):
    """Who ("User:alice") may or may not do what, from which host."""

    principal: str
    operation: AclOperation
    permission_type: AclPermissionType = AclPermissionType.ALLOW
    host: str = "*"


class AclBinding(NamedTuple):
    """A rule: an entry for resources."""

    pattern: ResourcePattern
    entry: AccessControlEntry


class AclBindingFilter(NamedTuple):
    """Which rules are meant; what is not said matches everything."""

    resource_type: ResourceType = ResourceType.ANY
    name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission_type: AclPermissionType = AclPermissionType.ANY


class AclOperations(Operations):
    """What Admin does with access control lists."""

    async def create_acls(
        self, acls: Iterable[AclBinding], *, timeout_s: float | None = None, raise_errors: bool = True
    ) -> Results[AclBinding, None]:
        """Add rules.

        orders = ResourcePattern(ResourceType.TOPIC, "orders")
        admin.create_acls([AclBinding(orders, AccessControlEntry("User:alice", AclOperation.READ))])
        """

        async def ask(
            call: Call, node_id: int | None, items: list[AclBinding]
        ) -> Mapping[AclBinding, MoldauError | None]:
            creations = [
                AclCreation(
                    resource_type=pattern.resource_type,
                    resource_name=pattern.name,
                    resource_pattern_type=pattern.pattern_type,
                    principal=entry.principal,
                    host=entry.host,
                    operation=entry.operation,
                    permission_type=entry.permission_type,
                )
                for pattern, entry in items
            ]
            answer = await call.ask(CreateAclsRequest(creations=creations), node_id)
            return {
                item: outcome(None, each.error_code, each.error_message)
                for item, each in zip(items, answer.results, strict=True)
            }

        return await self._calls.each(
            "creating ACLs", acls, ask, route=ControllerRoute(), timeout_s=timeout_s, raise_errors=raise_errors
        )

    async def describe_acls(
        self,
        acl_filter: AclBindingFilter = AclBindingFilter(),  # noqa: B008 - immutable
        *,
        timeout_s: float | None = None,
    ) -> list[AclBinding]:
        """The rules that match."""

        async def ask(call: Call, _node_id: int | None) -> list[AclBinding]:
            version = await call.version_of(DescribeAclsRequest)
            request = DescribeAclsRequest(
                resource_type_filter=acl_filter.resource_type,
                resource_name_filter=acl_filter.name,
                pattern_type_filter=_pattern_filter(acl_filter, version),
                principal_filter=acl_filter.principal,
                host_filter=acl_filter.host,
                operation=acl_filter.operation,
                permission_type=acl_filter.permission_type,
            )
            answer = await call.ask(request, version=version)
            check(answer.error_code, answer.error_message)
            return [
                _binding(
                    resource.resource_type,
                    resource.resource_name,
                    resource.pattern_type,
                    each.principal,
                    each.host,
                    each.operation,
                    each.permission_type,
                )
                for resource in answer.resources
                for each in resource.acls
            ]

        return await self._calls.one("describing ACLs", ask, timeout_s=timeout_s)

    async def delete_acls(
        self, filters: Iterable[AclBindingFilter], *, timeout_s: float | None = None, raise_errors: bool = True
    ) -> Results[AclBindingFilter, list[AclBinding]]:
        """Delete the rules that match; gives those that are gone, by filter."""

        async def ask(
            call: Call, node_id: int | None, items: list[AclBindingFilter]
        ) -> Mapping[AclBindingFilter, list[AclBinding] | MoldauError]:
            version = await call.version_of(DeleteAclsRequest, node_id)
            request = DeleteAclsRequest(
                filters=[
                    DeleteAclsFilter(
                        resource_type_filter=item.resource_type,
                        resource_name_filter=item.name,
                        pattern_type_filter=_pattern_filter(item, version),
                        principal_filter=item.principal,
                        host_filter=item.host,
                        operation=item.operation,
                        permission_type=item.permission_type,
                    )
                    for item in items
                ]
            )
            answer = await call.ask(request, node_id, version)
            outcomes: dict[AclBindingFilter, list[AclBinding] | MoldauError] = {}
            for item, each in zip(items, answer.filter_results, strict=True):
                gone = []
                code, message = each.error_code, each.error_message
                for one in each.matching_acls:
                    if one.error_code and not code:
                        code, message = one.error_code, one.error_message
                    gone.append(
                        _binding(
                            one.resource_type,
                            one.resource_name,
                            one.pattern_type,
                            one.principal,
                            one.host,
                            one.operation,
                            one.permission_type,
                        )
                    )
                outcomes[item] = outcome(gone, code, message)
            return outcomes

        return await self._calls.each(
            "deleting ACLs", filters, ask, route=ControllerRoute(), timeout_s=timeout_s, raise_errors=raise_errors
        )


def _pattern_filter(acl_filter: AclBindingFilter, version: int) -> PatternType:
    """Before patterns (version 0) every rule is literal, so that any rule is a literal one."""
    wanted = acl_filter.pattern_type
    return PatternType.LITERAL if version == 0 and wanted in (PatternType.ANY, PatternType.MATCH) else wanted


def _binding(
    resource_type: int, name: str, pattern_type: int, principal: str, host: str, operation: int, permission: int
) -> AclBinding:
    return AclBinding(
        ResourcePattern(ResourceType(resource_type), name, PatternType(pattern_type)),
        AccessControlEntry(principal, AclOperation(operation), AclPermissionType(permission), host),
    )
