"""DescribeGroups: the state and the members of groups.

A group that does not exist is Dead; from version 6 on it is GROUP_ID_NOT_FOUND as well (KIP-1043).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.authorized_operations import Operation, bit_field
from moldau.broker.call import Call
from moldau.broker.coordinated import Gathered
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse

if TYPE_CHECKING:
    from moldau.broker.node import Node

GROUP_OPERATIONS = bit_field(Operation.READ, Operation.DELETE, Operation.DESCRIBE)


def refused(request: DescribeGroupsRequest, code: ErrorCode, message: str) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(groups=[failed(group_id, code, message) for group_id in request.groups])


def failed(group_id: str, code: ErrorCode, message: str) -> DescribedGroup:
    return DescribedGroup(group_id=group_id, error_code=code, error_message=message or None)


@handles(ApiKey.DESCRIBE_GROUPS, "0-6", on_error=refused)
def describe_groups(node: Node, request: DescribeGroupsRequest, call: Call) -> None:
    def finish(outcomes: list[Any]) -> None:
        groups = []
        for group_id, outcome in zip(request.groups, outcomes, strict=True):
            if isinstance(outcome, ApiError):
                groups.append(failed(group_id, outcome.code, outcome.message))
                continue
            if request.include_authorized_operations and not outcome.error_code:
                outcome.authorized_operations = GROUP_OPERATIONS
            groups.append(outcome)
        call.respond(DescribeGroupsResponse(groups=groups))

    gathered = Gathered(len(request.groups), finish)
    for index, group_id in enumerate(request.groups):
        node.groups.describe(group_id, call.version, gathered.place(index))
