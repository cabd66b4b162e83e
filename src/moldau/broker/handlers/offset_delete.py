"""OffsetDelete: delete a group's committed offsets of topics that it is not subscribed to (KIP-496)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moldau.base.error_codes import ErrorCode
from moldau.broker.call import Call
from moldau.broker.coordinated import answering
from moldau.broker.handlers import handles
from moldau.broker.offset_topics import take_out_unknown
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

if TYPE_CHECKING:
    from moldau.broker.node import Node


def refused(_request: OffsetDeleteRequest, code: ErrorCode, _message: str) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(error_code=code)


@handles(ApiKey.OFFSET_DELETE, "0", on_error=refused)
def offset_delete(node: Node, request: OffsetDeleteRequest, call: Call) -> None:
    unknown = take_out_unknown(node.metadata, request)
    answer = answering(call, request, refused)

    def done(outcome: Any) -> None:
        if isinstance(outcome, OffsetDeleteResponse):
            by_name = {topic.name: topic for topic in outcome.topics}
            for name, _, indexes, code in unknown:
                if name not in by_name:
                    by_name[name] = OffsetDeleteResponseTopic(name=name)
                by_name[name].partitions += [
                    OffsetDeleteResponsePartition(partition_index=index, error_code=code) for index in indexes
                ]
            outcome.topics = list(by_name.values())
        answer(outcome)

    node.groups.delete_offsets(request, done)
