"""Heartbeat: a member is alive, and hears whether it has to join again.

While the coordinator loads, a heartbeat is answered as if all were well: the session has not begun to run out yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moldau.base.error_codes import ErrorCode
from moldau.broker.call import Call
from moldau.broker.coordinated import answering
from moldau.broker.handlers import handles
from moldau.broker.repeated_heartbeat import expect_repetition
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse

if TYPE_CHECKING:
    from moldau.broker.node import Node


def refused(_request: HeartbeatRequest, code: ErrorCode, _message: str) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=ErrorCode.NONE if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else code)


@handles(ApiKey.HEARTBEAT, "0-4", on_error=refused)
def heartbeat(node: Node, request: HeartbeatRequest, call: Call) -> HeartbeatResponse | None:
    response = node.groups.heartbeat(request, answering(call, request, refused))
    if response is not None and not response.error_code:
        expect_repetition(node, request, call)
    return response
