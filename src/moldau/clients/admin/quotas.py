"""Quotas of users, clients and addresses: describe, alter (KIP-546)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from moldau.base.errors import MoldauError
from moldau.clients.admin.calls import Call
from moldau.clients.admin.operations import Operations
from moldau.clients.admin.results import Results, outcome
from moldau.clients.admin.routes import ControllerRoute
from moldau.clients.errors import check
from moldau.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    OpData,
    RequestEntryData,
)
from moldau.protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"

_EXACT, _DEFAULT, _SPECIFIED = range(3)


class QuotaEntity(NamedTuple):
    """Who a quota is for, as pairs of type and name in the order of types; a name of None is the default."""

    entries: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, **names: str | None) -> QuotaEntity:
        """By keywords, with underscores: `QuotaEntity.of(user="alice", client_id=None)`."""
        return cls.made((name.replace("_", "-"), value) for name, value in names.items())

    @classmethod
    def made(cls, entries: Iterable[tuple[str, str | None]]) -> QuotaEntity:
        return cls(tuple(sorted(entries, key=lambda entry: entry[0])))

    def __str__(self) -> str:
        return ", ".join(f"{kind} {'(default)' if name is None else name}" for kind, name in self.entries)


class QuotaFilter(NamedTuple):
    """Entities that have a part of this type: any, the default if the name is None, or the one that is named."""

    entity_type: str
    name: str | None = None
    any_name: bool = False


class QuotaOperations(Operations):
    """What Admin does with quotas."""

    async def describe_client_quotas(
        self, components: Iterable[QuotaFilter] = (), *, strict: bool = False, timeout_s: float | None = None
    ) -> dict[QuotaEntity, dict[str, float]]:
        """Quotas of the entities that match all components; with `strict` of those that have no other part."""
        asked = [
            ComponentData(entity_type=each.entity_type, match_type=_match_type(each), match=each.name)
            for each in components
        ]

        async def ask(call: Call, _node_id: int | None) -> dict[QuotaEntity, dict[str, float]]:
            answer = await call.ask(DescribeClientQuotasRequest(components=asked, strict=strict))
            check(answer.error_code, answer.error_message)
            return {
                QuotaEntity.made((one.entity_type, one.entity_name) for one in each.entity): {
                    value.key: value.value for value in each.values
                }
                for each in answer.entries or ()
            }

        return await self._calls.one("describing quotas", ask, timeout_s=timeout_s)

    async def alter_client_quotas(
        self,
        alterations: Mapping[QuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = False,
        timeout_s: float | None = None,
        raise_errors: bool = True,
    ) -> Results[QuotaEntity, None]:
        """Set quotas; None removes one.

        admin.alter_client_quotas({QuotaEntity.of(user="alice"): {"producer_byte_rate": 1_000_000.0}})
        """

        async def ask(
            call: Call, node_id: int | None, items: list[QuotaEntity]
        ) -> Mapping[QuotaEntity, MoldauError | None]:
            entries = [
                RequestEntryData(
                    entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in item.entries],
                    ops=[
                        OpData(key=key, value=0.0 if value is None else value, remove=value is None)
                        for key, value in alterations[item].items()
                    ],
                )
                for item in items
            ]
            answer = await call.ask(AlterClientQuotasRequest(entries=entries, validate_only=validate_only), node_id)
            outcomes: dict[QuotaEntity, MoldauError | None] = {}
            for each in answer.entries:
                item = QuotaEntity.made((one.entity_type, one.entity_name) for one in each.entity)
                outcomes[item] = outcome(None, each.error_code, each.error_message, of=item)
            return outcomes

        return await self._calls.each(
            "altering quotas",
            alterations,
            ask,
            route=ControllerRoute(),
            timeout_s=timeout_s,
            raise_errors=raise_errors,
        )


def _match_type(component: QuotaFilter) -> int:
    if component.any_name:
        return _SPECIFIED
    return _DEFAULT if component.name is None else _EXACT
