"""DescribeQuorum: there is no KRaft quorum to describe, and the answer says so.

The controller is elected in the coordination store; Metadata and DescribeCluster name it. Served, and refused, so
that tools print the reason instead of a version that does not match.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError
from moldau.broker.call import Call
from moldau.broker.handlers import handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.describe_quorum import DescribeQuorumRequest

if TYPE_CHECKING:
    from moldau.broker.node import Node


@handles(ApiKey.DESCRIBE_QUORUM, "0-2")
def describe_quorum(_node: Node, _request: DescribeQuorumRequest, _call: Call) -> NoReturn:
    raise ApiError(
        ErrorCode.UNSUPPORTED_VERSION,
        "This cluster has no KRaft quorum: its controller is elected in the coordination store. "
        "DescribeCluster names the controller.",
    )
