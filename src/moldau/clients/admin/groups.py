"""Groups: list, describe, delete, remove members.

Groups are described in the way of the new protocol first (KIP-848), and those that are not of that kind in the classic
way; what only one kind has is None for the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, MoldauError, UnsupportedVersion
from moldau.clients.admin.calls import Call
from moldau.clients.admin.group_descriptions import GroupDescription, described_classic, described_consumer
from moldau.clients.admin.operations import Operations
from moldau.clients.admin.results import Results, outcome
from moldau.clients.admin.routes import CoordinatorOf, CoordinatorRoute
from moldau.clients.errors import check
from moldau.clients.network.coordinators import CoordinatorKind
from moldau.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from moldau.protocol.messages.delete_groups import DeleteGroupsRequest
from moldau.protocol.messages.describe_groups import DescribeGroupsRequest
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

CONSUMER_PROTOCOL: Final = "consumer"
# The coordinator knows no such group of the kind that was asked for.
_OTHER_KIND: Final = frozenset({ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION})
_SEVERAL_MEMBERS: Final = 3


@dataclass(frozen=True, slots=True)
class GroupListing:
    """A group; its state and type are None where the broker does not tell them (before 2.6 and 3.8)."""

    group_id: str
    protocol: str
    state: str | None
    type: str | None

    @property
    def is_simple_consumer_group(self) -> bool:
        """Whether it has offsets only, and never had members."""
        return not self.protocol


class MemberToRemove(NamedTuple):
    """A member, by its id or as a static one by its instance id."""

    member_id: str = ""
    group_instance_id: str | None = None


class GroupOperations(Operations):
    """What Admin does with groups."""

    async def list_groups(
        self,
        *,
        states: Iterable[str] = (),
        types: Iterable[str] = (),
        protocols: Iterable[str] = (),
        timeout_s: float | None = None,
    ) -> list[GroupListing]:
        """All groups of all coordinators, or those in these states ("Stable"), of these types ("classic"), …

        >>> [group.group_id for group in admin.list_groups(states=["Empty"])]
        ['billing']
        """
        request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
        wanted = set(protocols)

        async def ask(call: Call, node_id: int) -> list[GroupListing]:
            answer = await call.ask(request, node_id)
            assert isinstance(answer, ListGroupsResponse)
            check(answer.error_code)
            return [
                GroupListing(each.group_id, each.protocol_type, each.group_state or None, each.group_type or None)
                for each in answer.groups
                if not wanted or each.protocol_type in wanted
            ]

        answers = await self._ask_all_brokers("listing groups", ask, timeout_s)
        # While a coordinator moves, two brokers may know a group.
        found = {group.group_id: group for groups in answers.values() for group in groups}
        return [found[group_id] for group_id in sorted(found)]

    async def list_consumer_groups(
        self, *, states: Iterable[str] = (), types: Iterable[str] = (), timeout_s: float | None = None
    ) -> list[GroupListing]:
        """Groups of consumers: those that speak their protocol, and those that have offsets only."""
        protocols = (CONSUMER_PROTOCOL, "")
        return await self.list_groups(states=states, types=types, protocols=protocols, timeout_s=timeout_s)

    async def describe_consumer_groups(
        self,
        group_ids: Iterable[str],
        *,
        include_authorized_operations: bool = False,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[str, GroupDescription]:
        """State, coordinator and members of groups. One that does not exist is GROUP_ID_NOT_FOUND.

        >>> admin.describe_consumer_groups(["billing"])["billing"].state
        'Empty'
        """

        async def ask(
            call: Call, node_id: int | None, items: list[str]
        ) -> Mapping[str, GroupDescription | MoldauError]:
            assert node_id is not None
            coordinator = call.cluster.node(node_id)
            found: dict[str, GroupDescription | MoldauError] = {}
            try:
                request = ConsumerGroupDescribeRequest(
                    group_ids=items, include_authorized_operations=include_authorized_operations
                )
                for new in (await call.ask(request, node_id)).groups:
                    described = described_consumer(new, coordinator)
                    found[new.group_id] = outcome(described, new.error_code, new.error_message, of=new.group_id)
            except UnsupportedVersion:
                pass
            others = [item for item in items if _is_of_another_kind(found.get(item))]
            if others:
                classic = DescribeGroupsRequest(
                    groups=others, include_authorized_operations=include_authorized_operations
                )
                for old in (await call.ask(classic, node_id)).groups:
                    code = old.error_code
                    if not code and old.group_state == "Dead":  # how it was said before version 6
                        code = ErrorCode.GROUP_ID_NOT_FOUND
                    found[old.group_id] = outcome(
                        described_classic(old, coordinator), code, old.error_message, of=old.group_id
                    )
            return found

        return await self._calls.each(
            "describing groups",
            group_ids,
            ask,
            route=CoordinatorRoute(CoordinatorKind.GROUP),
            timeout_s=timeout_s,
            raise_errors=raise_errors,
        )

    async def delete_consumer_groups(
        self, group_ids: Iterable[str], *, timeout_s: float | None = None, raise_errors: bool = True
    ) -> Results[str, None]:
        """Delete groups that have no members, with their offsets.

        >>> _ = admin.delete_consumer_groups(["billing"])
        """

        async def ask(call: Call, node_id: int | None, items: list[str]) -> Mapping[str, MoldauError | None]:
            answer = await call.ask(DeleteGroupsRequest(groups_names=items), node_id)
            return {each.group_id: outcome(None, each.error_code, of=each.group_id) for each in answer.results}

        return await self._calls.each(
            "deleting groups",
            group_ids,
            ask,
            route=CoordinatorRoute(CoordinatorKind.GROUP),
            timeout_s=timeout_s,
            raise_errors=raise_errors,
        )

    async def remove_members_from_consumer_group(
        self,
        group_id: str,
        members: Iterable[MemberToRemove] | None = None,
        *,
        reason: str | None = None,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[MemberToRemove, None]:
        """Remove members, or all of them; a rebalance follows (KIP-345)."""
        if members is None:
            described = (await self.describe_consumer_groups([group_id], timeout_s=timeout_s))[group_id]
            members = [MemberToRemove(each.member_id, each.group_instance_id) for each in described.members]
        wanted = list(members)
        if not wanted:
            return Results({})

        async def ask(call: Call, node_id: int | None) -> Results[MemberToRemove, None]:
            if await call.version_of(LeaveGroupRequest, node_id) < _SEVERAL_MEMBERS:
                raise call.unsupported("the broker removes only the member that asks (it takes Kafka 2.4)")
            identities = [
                MemberIdentity(
                    member_id="" if each.group_instance_id else each.member_id,
                    group_instance_id=each.group_instance_id,
                    reason=reason,
                )
                for each in wanted
            ]
            answer = await call.ask(LeaveGroupRequest(group_id=group_id, members=identities), node_id)
            check(answer.error_code, group_id)
            return Results(
                {
                    each: outcome(None, got.error_code, of=each.group_instance_id or each.member_id)
                    for each, got in zip(wanted, answer.members, strict=True)
                }
            )

        results = await self._calls.one(
            f"removing members of group {group_id}",
            ask,
            route=CoordinatorOf(CoordinatorKind.GROUP, group_id),
            timeout_s=timeout_s,
        )
        if raise_errors:
            results.raise_first()
        return results


def _is_of_another_kind(found: GroupDescription | MoldauError | None) -> bool:
    return found is None or (isinstance(found, ApiError) and found.code in _OTHER_KIND)
