"""Whose settings `kafka-configs` is about: entities of one type, or a client of a user."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path
from typing import NamedTuple

from moldau.cli.kafka.failures import ToolFailed, WrongUsage
from moldau.cli.kafka.parser import has

TYPES = ("topics", "clients", "users", "brokers", "broker-loggers", "ips", "client-metrics", "groups")
FLAGS = {
    "topic": "topics",
    "client": "clients",
    "user": "users",
    "broker": "brokers",
    "broker-logger": "broker-loggers",
    "ip": "ips",
    "client-metrics": "client-metrics",
    "group": "groups",
}
WITH_DEFAULTS = ("client", "user", "broker", "ip")
DEFAULT = ""


class Entity(NamedTuple):
    """A type and a name; the name of the default is empty, and None stands for all."""

    type: str
    name: str | None


def entities_of(options: Namespace) -> list[Entity]:
    """The entities that the options name: at least one, and two if they are a user and a client."""
    by_flag = [
        Entity(kind, getattr(options, flag.replace("-", "_"))) for flag, kind in FLAGS.items() if has(options, flag)
    ]
    by_flag += [Entity(FLAGS[flag], DEFAULT) for flag in WITH_DEFAULTS if has(options, f"{flag}-defaults")]
    types, names = options.entity_type_all, options.entity_names_all
    if by_flag and (types or names):
        raise ToolFailed("--entity-{type,name,default} should not be used in conjunction with specific entity flags")
    for each in types:
        if each not in TYPES:
            raise ToolFailed(
                f"Invalid entity type {each}, the entity type must be one of {', '.join(TYPES)} with a "
                "--bootstrap-server argument"
            )
    if len(names) > len(types):
        raise ToolFailed("More entity names specified than entity types")
    entities = by_flag or [Entity(kind, names[at] if at < len(names) else None) for at, kind in enumerate(types)]
    kinds = [each.type for each in entities]
    if not entities:
        raise ToolFailed("At least one entity type must be specified")
    if len(set(kinds)) != len(kinds):
        raise ToolFailed(f"Duplicate entity type(s) specified: {kinds[-1]}")
    if len(kinds) > 1 and set(kinds) != {"users", "clients"}:
        raise ToolFailed("Only 'users' and 'clients' entity types may be specified together")
    for each in entities:
        if each.type in ("brokers", "broker-loggers") and each.name and not each.name.isdecimal():
            raise ToolFailed(
                f"The entity name for {each.type} must be a valid integer broker id, but it is: {each.name}"
            )
    return entities


def check_alteration(options: Namespace, entities: list[Entity]) -> None:
    """Refuse a change of nobody, or of nothing."""
    kind = entities[0].type
    if any(each.name is None for each in entities):
        if kind in ("users", "clients", "brokers", "ips"):
            raise ToolFailed(
                "an entity-name or default entity must be specified with --alter of users, clients, brokers or ips"
            )
        raise ToolFailed(f"an entity name must be specified with --alter of {kind}")
    if has(options, "add-config") and has(options, "add-config-file"):
        raise ToolFailed("Only one of --add-config or --add-config-file must be specified")
    if not any(has(options, each) for each in ("add-config", "add-config-file", "delete-config")):
        raise ToolFailed(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )


def additions(options: Namespace) -> dict[str, str]:
    """`a=1,b=[2,3]`, or what is in the file."""
    if has(options, "add-config-file"):
        from moldau.base.config.properties import load_properties

        return load_properties(Path(options.add_config_file))
    added = {}
    for each in re.split(r",(?=[^\]]*(?:\[|$))", options.add_config or ""):
        name, equals, value = each.partition("=")
        if each and not equals:
            raise WrongUsage(
                'requirement failed: Invalid entity config: all configs to be added must be in the format "key=val".'
            )
        if name.strip():
            added[name.strip()] = value.strip().removeprefix("[").removesuffix("]").strip()
    return added


def deletions(options: Namespace) -> list[str]:
    return [each.strip() for each in (options.delete_config or "").split(",") if each.strip()]
