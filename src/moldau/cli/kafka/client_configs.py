"""What `kafka-configs` does for users, clients and IPs: quotas, and SCRAM credentials of users."""

from __future__ import annotations

import re
from argparse import Namespace

from moldau.cli.kafka.config_entities import DEFAULT, Entity, additions, deletions
from moldau.cli.kafka.connecting import Connection
from moldau.cli.kafka.failures import ToolFailed
from moldau.clients.admin.quotas import CLIENT_ID, IP, USER, QuotaEntity, QuotaFilter, QuotaOperations
from moldau.clients.admin.scram import (
    ITERATIONS,
    ScramMechanism,
    ScramOperations,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

QUOTAS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
IP_QUOTAS = ("connection_creation_rate",)
MECHANISMS = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}
_KINDS = {"users": USER, "clients": CLIENT_ID, "ips": IP}
_SHOWN = {USER: "user-principal", CLIENT_ID: "client-id", IP: "ip"}
_CREDENTIAL = re.compile(r"(?:iterations=(?P<iterations>\d+),)?password=(?P<password>.*)")


async def describe(connection: Connection, _options: Namespace, entities: list[Entity]) -> None:
    filters = [QuotaFilter(_KINDS[each.type], each.name or None, any_name=each.name is None) for each in entities]
    strict = all(each.name is not None for each in entities)
    found = await connection.use(QuotaOperations).describe_client_quotas(filters, strict=strict)
    for entity, quotas in found.items():
        names = dict(entity.entries)
        parts = [
            f"the default {_SHOWN[kind]}" if names[kind] is None else f"{_SHOWN[kind]} '{names[kind]}'"
            for kind in _SHOWN
            if kind in names
        ]
        listed = ", ".join(f"{name}={value}" for name, value in quotas.items())
        print(f"Quota configs for {', '.join(parts)} are {listed}")
    if len(entities) == 1 and entities[0].type == "users" and entities[0].name != DEFAULT:
        await _describe_credentials(connection, entities[0].name)


async def _describe_credentials(connection: Connection, user: str | None) -> None:
    operations = connection.use(ScramOperations)
    found = await operations.describe_user_scram_credentials(None if user is None else [user], raise_errors=False)
    shown = {mechanism: name for name, mechanism in MECHANISMS.items()}
    for name, credentials in found.succeeded.items():
        listed = ", ".join(f"{shown[each.mechanism]}=iterations={each.iterations}" for each in credentials)
        print(f"SCRAM credential configs for user-principal '{name}' are {listed}")


async def alter(connection: Connection, options: Namespace, entities: list[Entity]) -> None:
    added, deleted = additions(options), deletions(options)
    kind = entities[0].type
    allowed = IP_QUOTAS if kind == "ips" else QUOTAS
    secrets = [name for name in (*added, *deleted) if name in MECHANISMS]
    users_only = [each.type for each in entities] == ["users"]
    unknown = [name for name in (*added, *deleted) if name not in allowed and not (users_only and name in MECHANISMS)]
    if unknown:
        what = "quota and SCRAM credential" if users_only else "connection quota" if kind == "ips" else "quota"
        raise ToolFailed(
            f"Only {what} configs can be changed for '{kind}' using --bootstrap-server. Unexpected config names: "
            f"{', '.join(unknown)}"
        )
    if secrets and len(secrets) != len(added) + len(deleted):
        raise ToolFailed(
            "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using --bootstrap-server."
        )
    if secrets:
        await _alter_credentials(connection, entities[0].name, added, deleted)
    else:
        entity = QuotaEntity.made((_KINDS[each.type], each.name or None) for each in entities)
        changes = {name: _number(name, value) for name, value in added.items()} | dict.fromkeys(deleted)
        await connection.use(QuotaOperations).alter_client_quotas({entity: changes})
    for each in entities[:1]:
        if each.name:
            print(f"Completed updating config for {each.type[:-1]} {each.name}.")
        else:
            print(f"Completed updating default config for {each.type} in the cluster.")


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise ToolFailed(f"Cannot parse quota configuration value for {name}: {value}") from None


async def _alter_credentials(
    connection: Connection, user: str | None, added: dict[str, str], deleted: list[str]
) -> None:
    if not user:
        raise ToolFailed(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials using "
            "--bootstrap-server."
        )
    changes: list[UserScramCredentialUpsertion | UserScramCredentialDeletion] = []
    for name, text in added.items():
        given = _CREDENTIAL.fullmatch(text)
        if given is None:
            raise ToolFailed(f"Invalid credential property {name}: write {name}=[iterations=8192,password=SECRET]")
        iterations = int(given["iterations"] or ITERATIONS)
        changes.append(UserScramCredentialUpsertion(user, given["password"], MECHANISMS[name], iterations))
    changes += [UserScramCredentialDeletion(user, MECHANISMS[name]) for name in deleted]
    await connection.use(ScramOperations).alter_user_scram_credentials(changes)
