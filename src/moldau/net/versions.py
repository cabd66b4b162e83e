"""Which version of each API to speak with a broker (KIP-35, KIP-511).

The newest ApiVersions request is sent first. A broker that does not know it answers in version 0 with
UNSUPPORTED_VERSION and, if it is not very old, with the versions of ApiVersions that it does know; then it is
asked again in the newest of these.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, MalformedMessage, UnsupportedVersion
from moldau.protocol.api import ApiKey
from moldau.protocol.codec import decode
from moldau.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from moldau.protocol.schema import Message, Versions

UNSUPPORTED_VERSION = ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")


class BrokerVersions:
    """What a broker said that it speaks."""

    __slots__ = ("_ranges", "answer")

    def __init__(self, answer: ApiVersionsResponse) -> None:
        self.answer = answer
        self._ranges = {each.api_key: Versions(each.min_version, each.max_version) for each in answer.api_keys}

    def __contains__(self, key: int) -> bool:
        return key in self._ranges

    def newest(self, message: type[Message]) -> int:
        """The newest version of an API that both sides speak."""
        theirs = self._ranges.get(message.KEY)
        if theirs is None:
            raise UnsupportedVersion(f"the broker does not support {ApiKey(message.KEY).title}")
        ours = message.VERSIONS
        version = min(ours.high, theirs.high)
        if version < max(ours.low, theirs.low):
            title = ApiKey(message.KEY).title
            raise UnsupportedVersion(f"the broker speaks {title} {theirs} and this client {ours}: none is common")
        return version


def decode_versions(frame: memoryview, position: int, version: int) -> ApiVersionsResponse:
    """An answer to ApiVersions, which is in version 0 if it says that the version asked for is unknown."""
    if frame[position : position + 2] != UNSUPPORTED_VERSION:
        return decode(ApiVersionsResponse, version, frame, position)
    try:
        return decode(ApiVersionsResponse, 0, frame, position)
    except MalformedMessage:
        # librdkafka's mock broker says so in a body of no version; the error alone is enough to go on.
        return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)


async def negotiate(
    ask: Callable[[ApiVersionsRequest, int], Awaitable[ApiVersionsResponse]], request: ApiVersionsRequest
) -> BrokerVersions:
    """Ask until the broker understands the question: in our newest version, in its newest, in version 0."""
    version = ApiVersionsRequest.VERSIONS.high
    while True:
        answer = await ask(request, version)
        if answer.error_code == ErrorCode.NONE:
            return BrokerVersions(answer)
        if answer.error_code != ErrorCode.UNSUPPORTED_VERSION or version == 0:
            text = f"the broker does not tell its versions: error {answer.error_code}"
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, text)
        known = [each.max_version for each in answer.api_keys if each.api_key == ApiKey.API_VERSIONS]
        version = min([version - 1, *known])
