"""JoinGroup: become a member of a group, and wait until everybody has joined.

From version 4 on a new member gets an id first (KIP-394), from 5 on it may be static (KIP-345), from 7 on the protocol
may be null in an error, from 9 on a static leader that comes back is told to leave the assignment alone (KIP-814).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.broker.call import Call
from moldau.broker.coordinated import answering
from moldau.broker.handlers import handles
from moldau.coordinator.group.joins import Joiner
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse

if TYPE_CHECKING:
    from moldau.broker.node import Node


def refused(request: JoinGroupRequest, code: ErrorCode, _message: str) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=code, member_id=request.member_id)


@handles(ApiKey.JOIN_GROUP, "0-9", on_error=refused)
def join_group(node: Node, request: JoinGroupRequest, call: Call) -> None:
    call.park()
    # Java writes an address with the name in front of it, which is not known here.
    joiner = Joiner(call.client_id or "", f"/{call.answer.connection.peer_host}", call.version)
    node.groups.join(request, joiner, answering(call, request, refused))
