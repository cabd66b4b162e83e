"""ApiVersions: which requests this node serves, in which versions.

It is the first request of a connection, sent before the client knows what the node speaks. So a version that is not
served is answered all the same, in version 0, with UNSUPPORTED_VERSION and the list to choose from (KIP-35, KIP-511).
The list is made of the handlers there are, and so cannot promise what does not work.
"""

from __future__ import annotations

import re
from typing import Any, Protocol

from moldau.base.error_codes import ErrorCode
from moldau.broker.call import Call
from moldau.broker.handlers import Registration, handles
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


class Node(Protocol):
    """What this handler needs of the node."""

    registrations: dict[ApiKey, Registration]


def refused(_request: Any, code: ErrorCode, _message: str) -> ApiVersionsResponse:
    return ApiVersionsResponse(error_code=code)


@handles(ApiKey.API_VERSIONS, "0-4", on_error=refused)
def api_versions(node: Node, request: ApiVersionsRequest, call: Call) -> ApiVersionsResponse:
    if call.version >= 3:
        software = (request.client_software_name, request.client_software_version)
        if not all(map(SOFTWARE.fullmatch, software)):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        call.session.client_software_name, call.session.client_software_version = software
    return ApiVersionsResponse(api_keys=served(node))


def unsupported(node: Node, call: Call) -> None:
    """Answer a version that is not served."""
    call.respond(ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=served(node)), version=0)


def served(node: Node) -> list[ApiVersion]:
    return [
        ApiVersion(api_key=key, min_version=one.versions.low, max_version=one.versions.high)
        for key, one in sorted(node.registrations.items())
    ]
