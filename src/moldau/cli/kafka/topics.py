"""`kafka-topics`: create, list, describe, alter and delete topics."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from moldau.cli.kafka.connecting import Connection, add_connection_options, with_connection
from moldau.cli.kafka.failures import ToolFailed, WrongUsage
from moldau.cli.kafka.parser import ToolParser, exactly_one, exclude, has, require
from moldau.cli.kafka.tool import Tool

if TYPE_CHECKING:
    from moldau.clients.admin.topics import TopicListing

ACTIONS = ("create", "list", "alter", "describe", "delete")
REPORTS = ("under-replicated-partitions", "under-min-isr-partitions", "at-min-isr-partitions", "unavailable-partitions")
REPLICATION_FACTOR_MAX = 32767
COLLIDES = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. "
    "To avoid issues it is best to use either, but not both."
)
AFFECTS_ORDER = (
    "WARNING: If partitions are increased for a topic that has a key, the partition logic or ordering of the messages "
    "will be affected"
)
MAY_HAVE_NO_IMPACT = "Note: This will have no impact if delete.topic.enable is not set to true."
# Which actions an option goes with.
_USED_WITH = {
    "config": ("create", "alter"),
    "partitions": ("create", "alter"),
    "replica-assignment": ("create", "alter"),
    "replication-factor": ("create",),
    "if-exists": ("alter", "delete", "describe"),
    "if-not-exists": ("create",),
    "exclude-internal": ("list", "describe"),
    "topics-with-overrides": ("describe",),
    **dict.fromkeys(REPORTS, ("describe",)),
}


def add_options(parser: ToolParser) -> None:
    parser.flag("list", "list all topics")
    parser.flag("create", "create a topic")
    parser.flag("describe", "show partitions, replicas and settings of topics, or of all topics")
    parser.flag("alter", "give a topic more partitions")
    parser.flag("delete", "delete a topic")
    add_connection_options(parser, zookeeper=True)
    parser.option("topic", "the topic; except with --create also a regular expression", metavar="TOPIC")
    parser.option("topic-id", "the topic to describe, by its id", metavar="ID")
    parser.option("partitions", "how many partitions the topic gets, or is to have", metavar="N", type=int)
    parser.option("replication-factor", "how many replicas each partition gets", metavar="N", type=int)
    parser.option(
        "replica-assignment", "the brokers of each partition: 0:1,1:2 are two partitions of two", metavar="ID:ID,…"
    )
    parser.repeated("config", "a setting of the topic to create; may be repeated", metavar="NAME=VALUE")
    parser.repeated("delete-config", "no longer supported here: see kafka-configs", metavar="NAME")
    parser.flag("under-replicated-partitions", "describe only partitions with replicas that are behind")
    parser.flag("unavailable-partitions", "describe only partitions without a living leader")
    parser.flag("under-min-isr-partitions", "describe only partitions with fewer in-sync replicas than they must have")
    parser.flag("at-min-isr-partitions", "describe only partitions with no more in-sync replicas than they must have")
    parser.flag("topics-with-overrides", "describe only topics with settings of their own, without partitions")
    parser.flag("if-exists", "do nothing, and succeed, if there is no such topic")
    parser.flag("if-not-exists", "do nothing, and succeed, if the topic exists")
    parser.flag("exclude-internal", "leave out Kafka's own topics")
    parser.option("partition-size-limit-per-response", "partitions in one answer", metavar="N", type=int)
    parser.ignored("force", "disable-rack-aware")


def check(options: Namespace) -> str:
    """The action, if everything given goes with it."""
    action = exactly_one(
        options,
        ACTIONS,
        "Command must include exactly one action: --list, --describe, --create, --alter or --delete",
    )
    if not has(options, "bootstrap-server") and not has(options, "zookeeper"):
        raise WrongUsage("--bootstrap-server must be specified")
    if action not in ("list", "describe"):
        require(options, "topic")
    if action == "alter":
        if has(options, "config") and not has(options, "zookeeper"):
            raise WrongUsage(
                'Option combination "[bootstrap-server],[config]" can\'t be used with option "[alter]" '
                "(the kafka-configs CLI supports altering topic configs with a --bootstrap-server option)"
            )
        if not has(options, "config") and not has(options, "delete-config"):
            require(options, "partitions")
    for option, actions in _USED_WITH.items():
        if action not in actions:
            exclude(options, option, action)
    for report in REPORTS:
        exclude(options, report, "topics-with-overrides")
    if action == "create":
        exclude(options, "replica-assignment", "partitions", "replication-factor")
    if not has(options, "zookeeper"):
        exclude(options, "delete-config", "bootstrap-server")
    return action


def run(options: Namespace) -> int:
    action = check(options)

    async def work(connection: Connection) -> int:
        if action == "create":
            await create(connection, options)
        elif action == "list":
            print("\n".join(await matching(connection, options)))
        elif action == "alter":
            await alter(connection, options)
        elif action == "delete":
            await delete(connection, options)
        else:
            from moldau.cli.kafka.topic_reports import describe

            await describe(connection, options)
        return 0

    return with_connection(options, work)


async def listings(connection: Connection, options: Namespace) -> dict[str, TopicListing]:
    """The topics that the options name, by name."""
    from moldau.clients.admin.topics import TopicOperations

    found = await connection.use(TopicOperations).list_topics(list_internal=not options.exclude_internal)
    pattern = pattern_of(options.topic)
    return {name: found[name] for name in sorted(found) if pattern is None or pattern.fullmatch(name)}


async def matching(connection: Connection, options: Namespace) -> list[str]:
    return list(await listings(connection, options))


async def existing(connection: Connection, options: Namespace) -> list[str]:
    """Topics to do something with; there has to be one, unless that does not matter."""
    found = await matching(connection, options)
    if not found and options.topic and not options.if_exists:
        raise ToolFailed(f"Topic '{options.topic}' does not exist as expected")
    return found


async def create(connection: Connection, options: Namespace) -> None:
    from moldau.base.error_codes import ErrorCode
    from moldau.base.errors import ApiError
    from moldau.clients.admin.topics import BROKER_DEFAULT, NewTopic, TopicOperations

    name = options.topic
    topic = NewTopic(
        name,
        BROKER_DEFAULT if options.partitions is None else options.partitions,
        BROKER_DEFAULT if options.replication_factor is None else options.replication_factor,
        replica_assignment(options.replica_assignment),
        configs_to_add(options.config_all),
    )
    if "." in name or "_" in name:
        print(COLLIDES)
    if options.replication_factor is not None and not 0 < options.replication_factor <= REPLICATION_FACTOR_MAX:
        raise ToolFailed(f"The replication factor must be between 1 and {REPLICATION_FACTOR_MAX} inclusive")
    if options.partitions is not None and options.partitions < 1:
        raise ToolFailed("The partitions must be greater than 0")
    try:
        await connection.use(TopicOperations).create_topics([topic])
    except ApiError as error:
        if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS or not options.if_not_exists:
            raise
    else:
        print(f'Created topic "{name}".' if options.zookeeper else f"Created topic {name}.")


async def alter(connection: Connection, options: Namespace) -> None:
    from moldau.clients.admin.topic_descriptions import TopicDescriptionOperations
    from moldau.clients.admin.topics import NewPartitions, TopicOperations

    topics = await existing(connection, options)
    if options.config_all or options.delete_config_all:
        await _alter_configs(connection, topics, options)
    if not topics or options.partitions is None:
        return
    if options.zookeeper:
        print(AFFECTS_ORDER)
    assignment = replica_assignment(options.replica_assignment)
    needs_counts = bool(assignment or options.zookeeper)
    described = await connection.use(TopicDescriptionOperations).describe_topics(topics) if needs_counts else {}
    wanted = {}
    for topic in topics:
        if options.zookeeper and (count := len(described[topic].partitions)) >= options.partitions:
            raise ToolFailed(  # in the words of those days
                "The number of partitions for a topic can only be increased. "
                f"Topic {topic} currently has {count} partitions, {options.partitions} would not be an increase."
            )
        new = None
        if assignment:
            new = [assignment[number] for number in sorted(assignment)][len(described[topic].partitions) :]
        wanted[topic] = NewPartitions(options.partitions, new)
    await connection.use(TopicOperations).create_partitions(wanted)
    if options.zookeeper:
        print("Adding partitions succeeded!")


async def _alter_configs(connection: Connection, topics: Sequence[str], options: Namespace) -> None:
    """What kafka-topics could do in the days of `--zookeeper`."""
    from moldau.clients.admin.config_entries import AlterConfigOp, ConfigResource, OpType
    from moldau.clients.admin.configs import ConfigOperations

    print(
        "WARNING: Altering topic configuration from this script has been deprecated and may be removed in future "
        "releases.\n         Going forward, please use kafka-configs.sh for this functionality"
    )
    changes = [AlterConfigOp(name, value) for name, value in configs_to_add(options.config_all).items()]
    changes += [AlterConfigOp(name, op_type=OpType.DELETE) for name in options.delete_config_all]
    await connection.use(ConfigOperations).incremental_alter_configs(
        {ConfigResource.topic(topic): changes for topic in topics}
    )
    for topic in topics:
        print(f'Updated config for topic "{topic}".')


async def delete(connection: Connection, options: Namespace) -> None:
    from moldau.clients.admin.topics import TopicOperations

    topics = await existing(connection, options)
    if topics:
        await connection.use(TopicOperations).delete_topics(topics)
    if options.zookeeper:
        for topic in topics:
            print(f"Topic {topic} is marked for deletion.\n{MAY_HAVE_NO_IMPACT}")


def pattern_of(text: str | None) -> re.Pattern[str] | None:
    """Names as a regular expression, or several with commas between; quotes around it are of a shell that kept them."""
    if text is None:
        return None
    written = text.strip().replace(",", "|").replace(" ", "").strip("\"'")
    try:
        return re.compile(written)
    except re.error as error:
        raise ToolFailed(f"{text} is an invalid regex: {error}") from error


def replica_assignment(text: str | None) -> dict[int, list[int]] | None:
    """`0:1,1:2` as brokers by partition."""
    if not text:
        return None
    assignment: dict[int, list[int]] = {}
    for number, part in enumerate(text.split(",")):
        try:
            brokers = [int(each) for each in part.split(":")]
        except ValueError:
            raise ToolFailed(f"{part!r} in --replica-assignment is not a list of broker ids, as in 0:1") from None
        if twice := sorted({each for each in brokers if brokers.count(each) > 1}):
            raise ToolFailed(f"Partition replica lists may not contain duplicate entries: {','.join(map(str, twice))}")
        assignment[number] = brokers
        if len(brokers) != len(assignment[0]):
            raise ToolFailed(f"Partition {number} has different replication factor: {brokers}")
    return assignment


def configs_to_add(given: Sequence[str]) -> dict[str, str]:
    configs = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not value.strip():
            raise ToolFailed(
                'requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".'
            )
        configs[name.strip()] = value.strip()
    return configs


TOOL = Tool(
    "kafka-topics",
    "Create, delete, describe, or change a topic.",
    add_options,
    run,
    (
        "--bootstrap-server localhost:9092 --create --topic orders --partitions 3",
        "--bootstrap-server localhost:9092 --describe --topic orders",
        "--bootstrap-server localhost:9092 --list",
    ),
    failure="Error while executing topic command : ",
)
main = TOOL.main
