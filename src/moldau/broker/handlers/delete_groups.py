"""DeleteGroups: delete groups without members, and all their offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.coordinated import Gathered
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse

if TYPE_CHECKING:
    from moldau.broker.node import Node


def refused(request: DeleteGroupsRequest, code: ErrorCode, _message: str) -> DeleteGroupsResponse:
    results = [DeletableGroupResult(group_id=group_id, error_code=code) for group_id in request.groups_names]
    return DeleteGroupsResponse(results=results)


@handles(ApiKey.DELETE_GROUPS, "0-2", on_error=refused)
def delete_groups(node: Node, request: DeleteGroupsRequest, call: Call) -> None:
    group_ids = list(dict.fromkeys(request.groups_names))

    def finish(outcomes: list[Any]) -> None:
        codes = [outcome.code if isinstance(outcome, ApiError) else ErrorCode.NONE for outcome in outcomes]
        results = [
            DeletableGroupResult(group_id=group_id, error_code=code)
            for group_id, code in zip(group_ids, codes, strict=True)
        ]
        call.respond(DeleteGroupsResponse(results=results))

    gathered = Gathered(len(group_ids), finish)
    for index, group_id in enumerate(group_ids):
        node.groups.delete(group_id, gathered.place(index))
