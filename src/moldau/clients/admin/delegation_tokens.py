"""Delegation tokens: create, renew, expire, describe (KIP-48)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from moldau.clients.admin.calls import Call
from moldau.clients.admin.operations import Operations
from moldau.clients.admin.routes import ControllerRoute
from moldau.clients.errors import check
from moldau.protocol.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from moldau.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from moldau.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from moldau.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest

BROKER_DEFAULT_MS: Final = -1


class KafkaPrincipal(NamedTuple):
    """Somebody who was authenticated."""

    name: str
    type: str = "User"

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """A token; times are in milliseconds. `hmac` is the secret."""

    token_id: str
    owner: KafkaPrincipal
    token_requester: KafkaPrincipal
    renewers: tuple[KafkaPrincipal, ...]
    issue_timestamp: int
    expiry_timestamp: int
    max_timestamp: int
    hmac: bytes = field(repr=False)


class DelegationTokenOperations(Operations):
    """What Admin does with delegation tokens."""

    async def create_delegation_token(
        self,
        *,
        owner: KafkaPrincipal | None = None,
        renewers: Iterable[KafkaPrincipal] = (),
        max_lifetime_ms: int = BROKER_DEFAULT_MS,
        timeout_s: float | None = None,
    ) -> DelegationToken:
        """A token for the user of this connection, or for another one (KIP-373)."""
        wanted = tuple(renewers)

        async def ask(call: Call, node_id: int | None) -> DelegationToken:
            request = CreateDelegationTokenRequest(
                owner_principal_type=owner.type if owner else None,
                owner_principal_name=owner.name if owner else None,
                renewers=[CreatableRenewers(principal_type=each.type, principal_name=each.name) for each in wanted],
                max_lifetime_ms=max_lifetime_ms,
            )
            answer = await call.ask(request, node_id)
            check(answer.error_code)
            holder = KafkaPrincipal(answer.principal_name, answer.principal_type)
            requester = answer.token_requester_principal_name
            return DelegationToken(
                answer.token_id,
                holder,
                KafkaPrincipal(requester, answer.token_requester_principal_type) if requester else holder,
                wanted,
                answer.issue_timestamp_ms,
                answer.expiry_timestamp_ms,
                answer.max_timestamp_ms,
                answer.hmac,
            )

        return await self._calls.one("creating a delegation token", ask, route=ControllerRoute(), timeout_s=timeout_s)

    async def renew_delegation_token(
        self, hmac: bytes, *, renew_period_ms: int = BROKER_DEFAULT_MS, timeout_s: float | None = None
    ) -> int:
        """Prolong a token; gives the time at which it expires then."""

        async def ask(call: Call, node_id: int | None) -> int:
            answer = await call.ask(RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=renew_period_ms), node_id)
            check(answer.error_code)
            return int(answer.expiry_timestamp_ms)

        return await self._calls.one("renewing a delegation token", ask, route=ControllerRoute(), timeout_s=timeout_s)

    async def expire_delegation_token(
        self, hmac: bytes, *, expiry_period_ms: int = BROKER_DEFAULT_MS, timeout_s: float | None = None
    ) -> int:
        """Let a token expire after a period, or at once; gives the time of that."""

        async def ask(call: Call, node_id: int | None) -> int:
            request = ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=expiry_period_ms)
            answer = await call.ask(request, node_id)
            check(answer.error_code)
            return int(answer.expiry_timestamp_ms)

        return await self._calls.one("expiring a delegation token", ask, route=ControllerRoute(), timeout_s=timeout_s)

    async def describe_delegation_token(
        self, owners: Iterable[KafkaPrincipal] | None = None, *, timeout_s: float | None = None
    ) -> list[DelegationToken]:
        """The tokens that this user may see, of all owners or of some."""
        asked = None
        if owners is not None:
            asked = [
                DescribeDelegationTokenOwner(principal_type=each.type, principal_name=each.name) for each in owners
            ]

        async def ask(call: Call, _node_id: int | None) -> list[DelegationToken]:
            answer = await call.ask(DescribeDelegationTokenRequest(owners=asked))
            check(answer.error_code)
            return [
                DelegationToken(
                    each.token_id,
                    KafkaPrincipal(each.principal_name, each.principal_type),
                    KafkaPrincipal(
                        each.token_requester_principal_name or each.principal_name,
                        each.token_requester_principal_type or each.principal_type,
                    ),
                    tuple(KafkaPrincipal(one.principal_name, one.principal_type) for one in each.renewers),
                    each.issue_timestamp,
                    each.expiry_timestamp,
                    each.max_timestamp,
                    each.hmac,
                )
                for each in answer.tokens
            ]

        return await self._calls.one("describing delegation tokens", ask, timeout_s=timeout_s)
