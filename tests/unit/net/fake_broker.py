"""A broker that answers from a script: requests decoded and kept, answers given by the test."""

from __future__ import annotations

from collections.abc import Callable

from moldau.base.error_codes import ErrorCode
from moldau.net.answer import Answer
from moldau.protocol.api import ApiKey, request_class
from moldau.protocol.codec import decode, encode_parts
from moldau.protocol.headers import RequestHeader, decode_request_header, encode_response_header
from moldau.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from moldau.protocol.messages.heartbeat import HeartbeatResponse
from moldau.protocol.schema import Message

Reply = Callable[[RequestHeader, Answer], None]

SPOKEN = {ApiKey.API_VERSIONS: (0, 4), ApiKey.HEARTBEAT: (1, 3), ApiKey.PRODUCE: (3, 9), ApiKey.FETCH: (4, 12)}


def reply(header: RequestHeader, answer: Answer, response: Message, version: int | None = None) -> None:
    version = header.api_version if version is None else version
    start = encode_response_header(header.api_key, version, header.correlation_id)
    answer.send((start, *encode_parts(response, version)))


class FakeBroker:
    """Speaks the versions in `spoken`; other requests than ApiVersions go to `on[key]`, or are kept."""

    def __init__(self, spoken: dict[ApiKey, tuple[int, int]] | None = None) -> None:
        self.spoken = SPOKEN if spoken is None else spoken
        self.on: dict[int, Reply] = {ApiKey.HEARTBEAT: self._beat}
        self.headers: list[RequestHeader] = []
        self.requests: list[Message] = []
        self.kept: list[tuple[RequestHeader, Answer]] = []

    def __call__(self, frame: memoryview, answer: Answer) -> None:
        header = decode_request_header(frame)
        self.headers.append(header)
        if header.api_key == ApiKey.API_VERSIONS:
            self._tell_versions(header, answer)
            return
        self.requests.append(decode(request_class(ApiKey(header.api_key)), header.api_version, frame, header.body))
        if header.api_key in self.on:
            self.on[header.api_key](header, answer)
        else:
            self.kept.append((header, answer))

    def _beat(self, header: RequestHeader, answer: Answer) -> None:
        reply(header, answer, HeartbeatResponse())

    def _tell_versions(self, header: RequestHeader, answer: Answer) -> None:
        keys = [ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in self.spoken.items()]
        if header.api_version <= self.spoken[ApiKey.API_VERSIONS][1]:
            reply(header, answer, ApiVersionsResponse(api_keys=keys))
        else:
            refusal = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=keys[:1])
            reply(header, answer, refusal, version=0)
