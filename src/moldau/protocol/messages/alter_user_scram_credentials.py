"""AlterUserScramCredentials (51): set and remove SCRAM credentials (KIP-554).

Flexible from the start.
"""

from __future__ import annotations

from moldau.protocol.schema import Bytes, Int8, Int16, Int32, Message, String, Struct, message, struct, wire


@struct
class ScramCredentialDeletion(Struct):
    name: String = ""
    mechanism: Int8 = 0


@struct
class ScramCredentialUpsertion(Struct):
    name: String = ""
    mechanism: Int8 = 0
    iterations: Int32 = 0
    salt: Bytes = b""
    salted_password: Bytes = b""


@message(key=51, versions="0", flexible="0+")
class AlterUserScramCredentialsRequest(Message):
    deletions: list[ScramCredentialDeletion] = wire(default=[])
    upsertions: list[ScramCredentialUpsertion] = wire(default=[])


@struct
class AlterUserScramCredentialsResult(Struct):
    user: String = ""
    error_code: Int16 = 0
    error_message: String | None = wire(default=None, null="0+")


@message(key=51, versions="0", flexible="0+")
class AlterUserScramCredentialsResponse(Message):
    throttle_time_ms: Int32 = 0
    results: list[AlterUserScramCredentialsResult] = wire(default=[])
