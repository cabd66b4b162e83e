"""SCRAM credentials of users: describe, set, delete (KIP-554).

A password never leaves this process: what is sent is the salted password of RFC 5802, from which the broker makes the
keys that it stores.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from moldau.base.error_codes import ErrorCode
from moldau.base.errors import ApiError, MoldauError
from moldau.clients.admin.calls import Call
from moldau.clients.admin.operations import Operations, ProtocolEnum
from moldau.clients.admin.results import Results, outcome
from moldau.clients.admin.routes import ControllerRoute
from moldau.clients.errors import check
from moldau.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from moldau.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName

ITERATIONS: Final = 4096
_SALT_BYTES: Final = 24


class ScramMechanism(ProtocolEnum):
    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2


_HASHES: Final = {ScramMechanism.SCRAM_SHA_256: "sha256", ScramMechanism.SCRAM_SHA_512: "sha512"}


@dataclass(frozen=True, slots=True)
class ScramCredentialInfo:
    mechanism: ScramMechanism
    iterations: int


@dataclass(frozen=True, slots=True)
class UserScramCredentialUpsertion:
    """A password to set; without a salt one is drawn."""

    user: str
    password: str = field(repr=False)
    mechanism: ScramMechanism = ScramMechanism.SCRAM_SHA_512
    iterations: int = ITERATIONS
    salt: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class UserScramCredentialDeletion:
    user: str
    mechanism: ScramMechanism


class ScramOperations(Operations):
    """What Admin does with SCRAM credentials."""

    async def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None, *, timeout_s: float | None = None, raise_errors: bool = True
    ) -> Results[str, tuple[ScramCredentialInfo, ...]]:
        """The mechanisms that users have a password for, of all users or of some."""
        names = None if users is None else [UserName(name=user) for user in users]

        async def ask(call: Call, _node_id: int | None) -> Results[str, tuple[ScramCredentialInfo, ...]]:
            answer = await call.ask(DescribeUserScramCredentialsRequest(users=names))
            check(answer.error_code, answer.error_message)
            return Results(
                {
                    each.user: outcome(
                        tuple(
                            ScramCredentialInfo(ScramMechanism(one.mechanism), one.iterations)
                            for one in each.credential_infos
                        ),
                        each.error_code,
                        each.error_message,
                        of=each.user,
                    )
                    for each in answer.results
                }
            )

        results = await self._calls.one("describing SCRAM credentials", ask, timeout_s=timeout_s)
        if raise_errors:
            results.raise_first()
        return results

    async def alter_user_scram_credentials(
        self,
        alterations: Iterable[UserScramCredentialUpsertion | UserScramCredentialDeletion],
        *,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[str, None]:
        """Set and delete passwords; KRaft clusters take each user once in a call.

        admin.alter_user_scram_credentials([UserScramCredentialUpsertion("alice", "secret")])
        """
        by_user: dict[str, list[UserScramCredentialUpsertion | UserScramCredentialDeletion]] = {}
        for each in alterations:
            by_user.setdefault(each.user, []).append(each)

        async def ask(call: Call, node_id: int | None, users: list[str]) -> Mapping[str, MoldauError | None]:
            request = AlterUserScramCredentialsRequest()
            for each in (each for user in users for each in by_user[user]):
                if isinstance(each, UserScramCredentialDeletion):
                    deletion = ScramCredentialDeletion(name=each.user, mechanism=each.mechanism)
                    request.deletions.append(deletion)
                else:
                    request.upsertions.append(_salted(each))
            answer = await call.ask(request, node_id)
            return {
                each.user: outcome(None, each.error_code, each.error_message, of=each.user) for each in answer.results
            }

        return await self._calls.each(
            "altering SCRAM credentials",
            by_user,
            ask,
            route=ControllerRoute(),
            timeout_s=timeout_s,
            raise_errors=raise_errors,
        )


def _salted(upsertion: UserScramCredentialUpsertion) -> ScramCredentialUpsertion:
    algorithm = _HASHES.get(upsertion.mechanism)
    if algorithm is None:
        raise ApiError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, f"{upsertion.user}: a mechanism has to be named")
    salt = os.urandom(_SALT_BYTES) if upsertion.salt is None else upsertion.salt
    return ScramCredentialUpsertion(
        name=upsertion.user,
        mechanism=upsertion.mechanism,
        iterations=upsertion.iterations,
        salt=salt,
        salted_password=hashlib.pbkdf2_hmac(algorithm, upsertion.password.encode(), salt, upsertion.iterations),
    )
