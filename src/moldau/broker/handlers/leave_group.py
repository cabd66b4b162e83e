"""LeaveGroup: a member leaves; from version 3 on several at once, also static ones by their instance ids (KIP-345).

Up to version 2 the answer has one code, that of the one member.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moldau.base.error_codes import ErrorCode
from moldau.broker.call import Call
from moldau.broker.coordinated import answering
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity

if TYPE_CHECKING:
    from moldau.broker.node import Node

SEVERAL_MEMBERS_VERSION = 3


def refused(_request: LeaveGroupRequest, code: ErrorCode, _message: str) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=code)


@handles(ApiKey.LEAVE_GROUP, "0-5", on_error=refused)
def leave_group(node: Node, request: LeaveGroupRequest, call: Call) -> None:
    answer = answering(call, request, refused)
    if call.version >= SEVERAL_MEMBERS_VERSION:
        node.groups.leave(request.group_id, request.members, answer)
        return

    def done(outcome: Any) -> None:
        if isinstance(outcome, LeaveGroupResponse):
            outcome.error_code, outcome.members = outcome.members[0].error_code, []
        answer(outcome)

    node.groups.leave(request.group_id, [MemberIdentity(member_id=request.member_id)], done)
