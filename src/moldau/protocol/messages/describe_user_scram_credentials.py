"""DescribeUserScramCredentials (50): which SCRAM credentials users have (KIP-554).

Flexible from the start.
"""

from __future__ import annotations

from moldau.protocol.schema import Int8, Int16, Int32, Message, String, Struct, message, struct, wire


@struct
class UserName(Struct):
    name: String = ""


@message(key=50, versions="0", flexible="0+")
class DescribeUserScramCredentialsRequest(Message):
    users: list[UserName] | None = wire(default=[], null="0+")


@struct
class CredentialInfo(Struct):
    mechanism: Int8 = 0
    iterations: Int32 = 0


@struct
class DescribeUserScramCredentialsResult(Struct):
    user: String = ""
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    credential_infos: list[CredentialInfo] = wire(default=[])


@message(key=50, versions="0", flexible="0+")
class DescribeUserScramCredentialsResponse(Message):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")
    results: list[DescribeUserScramCredentialsResult] = wire(default=[])
