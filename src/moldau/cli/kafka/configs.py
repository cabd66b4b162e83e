"""`kafka-configs`: settings of topics, brokers, loggers, groups and client metrics; quotas and passwords of users."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from moldau.cli.kafka.config_entities import (
    DEFAULT,
    FLAGS,
    WITH_DEFAULTS,
    Entity,
    additions,
    check_alteration,
    deletions,
    entities_of,
)
from moldau.cli.kafka.connecting import Connection, add_connection_options, with_connection
from moldau.cli.kafka.failures import ToolFailed
from moldau.cli.kafka.parser import ToolParser, exactly_one, exclude
from moldau.cli.kafka.tool import Tool

if TYPE_CHECKING:
    from moldau.clients.admin.config_entries import ConfigResource

QUOTA_TYPES = ("users", "clients", "ips")


def add_options(parser: ToolParser) -> None:
    parser.flag("describe", "show settings")
    parser.flag("alter", "change settings")
    add_connection_options(parser, zookeeper=True)
    parser.repeated("entity-type", f"whose settings: {', '.join(FLAGS.values())}", metavar="TYPE")
    names = "entity_names_all"
    parser.add_argument("--entity-name", dest=names, action="append", metavar="NAME", help="the name of that entity")
    parser.add_argument(
        "--entity-default", dest=names, action="append_const", const=DEFAULT, help="the default of that type"
    )
    for flag, kind in FLAGS.items():
        parser.option(flag, f"an entity of the type {kind}", metavar="NAME")
    for flag in WITH_DEFAULTS:
        parser.flag(f"{flag}-defaults", f"the default of the type {FLAGS[flag]}")
    parser.flag("all", "describe all settings, not only those that were changed")
    parser.option("add-config", "settings to change; brackets hold values with commas", metavar="NAME=VALUE,N=[V,V]")
    parser.option("add-config-file", "a file with settings to change", metavar="FILE")
    parser.option("delete-config", "settings to set back to their defaults", metavar="NAME,…")
    parser.ignored("force")


def run(options: Namespace) -> int:
    action = exactly_one(options, ("describe", "alter"), "Command must include exactly one action: --describe, --alter")
    exclude(options, "describe", "add-config", "add-config-file", "delete-config")
    entities = entities_of(options)
    if action == "alter":
        check_alteration(options, entities)

    async def work(connection: Connection) -> int:
        if entities[0].type in QUOTA_TYPES:
            from moldau.cli.kafka import client_configs

            change = client_configs.alter if action == "alter" else client_configs.describe
            await change(connection, options, entities)
        elif action == "alter":
            await alter(connection, options, entities[0])
        else:
            await describe(connection, options, entities[0])
        return 0

    return with_connection(options, work)


def resource_of(entity: Entity) -> ConfigResource:
    from moldau.clients.admin.config_entries import ConfigResource, ConfigResourceType

    kinds = {
        "topics": ConfigResourceType.TOPIC,
        "brokers": ConfigResourceType.BROKER,
        "broker-loggers": ConfigResourceType.BROKER_LOGGER,
        "client-metrics": ConfigResourceType.CLIENT_METRICS,
        "groups": ConfigResourceType.GROUP,
    }
    return ConfigResource(kinds[entity.type], entity.name or DEFAULT)


async def describe(connection: Connection, options: Namespace, entity: Entity) -> None:
    from moldau.clients.admin.config_entries import ConfigSource
    from moldau.clients.admin.configs import ConfigOperations

    if entity.name is None and entity.type == "broker-loggers":
        raise ToolFailed("an entity name must be specified with --describe of broker-loggers")
    changed = {
        "topics": ConfigSource.DYNAMIC_TOPIC_CONFIG,
        "brokers": ConfigSource.DYNAMIC_BROKER_CONFIG if entity.name else None,
        "client-metrics": ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG,
        "groups": ConfigSource.DYNAMIC_GROUP_CONFIG,
    }
    operations = connection.use(ConfigOperations)
    for each in await _all_of(connection, entity):
        resource = resource_of(each)
        entries = (await operations.describe_configs([resource], include_synonyms=True))[resource]
        source = changed.get(each.type)
        if each.type == "brokers":
            source = ConfigSource.DYNAMIC_BROKER_CONFIG if each.name else ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
        shown = [
            entry for _, entry in sorted(entries.items()) if options.all or source is None or entry.source is source
        ]
        if options.zookeeper:
            listed = ",".join(f"{entry.name}={entry.value}" for entry in shown)
            print(f"Configs for {each.type[:-1]} '{each.name}' are {listed}")
            continue
        if each.name == DEFAULT and each.type == "brokers":
            print(f"Default configs for {each.type} in the cluster are:")
        else:
            print(f"{'All' if options.all else 'Dynamic'} configs for {each.type[:-1]} {each.name} are:")
        for entry in shown:
            synonyms = ", ".join(f"{one.source.name}:{one.name}={_shown(one.value)}" for one in entry.synonyms)
            sensitive = str(entry.is_sensitive).lower()
            print(f"  {entry.name}={_shown(entry.value)} sensitive={sensitive} synonyms={{{synonyms}}}")


def _shown(value: str | None) -> str:
    return "null" if value is None else value


async def _all_of(connection: Connection, entity: Entity) -> list[Entity]:
    """The entity, or all of its type if it has no name."""
    if entity.name is not None:
        return [entity]
    if entity.type == "topics":
        from moldau.clients.admin.topics import TopicOperations

        names = sorted(await connection.use(TopicOperations).list_topics(list_internal=True))
    elif entity.type == "brokers":
        from moldau.clients.admin.cluster_operations import ClusterOperations

        nodes = await connection.use(ClusterOperations).list_nodes()
        names = [*(str(node.id) for node in nodes), DEFAULT]
    else:
        from moldau.clients.admin.configs import ConfigOperations

        kind = resource_of(entity).type
        names = [each.name for each in await connection.use(ConfigOperations).list_config_resources([kind])]
    return [Entity(entity.type, name) for name in names]


async def alter(connection: Connection, options: Namespace, entity: Entity) -> None:
    from moldau.clients.admin.config_entries import AlterConfigOp, OpType
    from moldau.clients.admin.configs import ConfigOperations

    operations = connection.use(ConfigOperations)
    resource = resource_of(entity)
    added, deleted = additions(options), deletions(options)
    if entity.type not in ("broker-loggers", "client-metrics"):
        known = (await operations.describe_configs([resource]))[resource]
        if invalid := [name for name in deleted if name not in known]:
            raise ToolFailed(f"Invalid config(s): {','.join(invalid)}")
    changes = [AlterConfigOp(name, value) for name, value in added.items()]
    changes += [AlterConfigOp(name, op_type=OpType.DELETE) for name in deleted]
    await operations.incremental_alter_configs({resource: changes})
    if options.zookeeper:
        print(f"Completed Updating config for entity: {entity.type[:-1]} '{entity.name}'.")
    elif entity.name:
        print(f"Completed updating config for {entity.type[:-1]} {entity.name}.")
    else:
        print(f"Completed updating default config for {entity.type} in the cluster.")


TOOL = Tool(
    "kafka-configs",
    "Manipulate and describe settings of topics, clients, users, brokers and IPs.",
    add_options,
    run,
    (
        "--bootstrap-server localhost:9092 --describe --topic orders",
        "--bootstrap-server localhost:9092 --alter --topic orders --add-config retention.ms=60000",
        "--bootstrap-server localhost:9092 --alter --broker-defaults --add-config log.cleaner.threads=2",
    ),
)
main = TOOL.main
