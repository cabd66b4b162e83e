"""ListGroups: the groups that this broker coordinates; from version 4 on by state (KIP-518), from 5 on by type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

if TYPE_CHECKING:
    from moldau.broker.node import Node


@handles(ApiKey.LIST_GROUPS, "0-5")
def list_groups(node: Node, request: ListGroupsRequest, _call: Call) -> ListGroupsResponse:
    return ListGroupsResponse(groups=node.groups.listed(request))
