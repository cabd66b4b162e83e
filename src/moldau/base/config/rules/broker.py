"""What must hold between the settings of a broker, and what follows from them.

Each rule yields a text for everything that breaks it; the texts are Kafka's where Kafka has the rule. Only what
the configuration alone can tell is here: whether a directory exists or a certificate opens is found out by whoever
uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from moldau.base.config.addresses import connections_per_ip_overrides, log_directories
from moldau.base.config.config import Config
from moldau.base.config.listeners import inter_broker_listener
from moldau.base.config.value_types import Value
from moldau.base.errors import ConfigError

_MIB: Final = 1024 * 1024


def derive_broker_values(values: dict[str, Value]) -> None:
    """Every negative retention time means without limit, and is -1 from here on."""
    retention_ms = values["log.retention.ms"]
    assert isinstance(retention_ms, int)
    values["log.retention.ms"] = max(retention_ms, -1)


def node_id_is_broker_id(config: Config) -> Iterator[str]:
    if config["node.id"] != config["broker.id"]:
        yield "You must set `node.id` to the same value as `broker.id`."


def broker_id_in_range(config: Config) -> Iterator[str]:
    broker_id = config.integer("broker.id")
    if not config.boolean("broker.id.generation.enable"):
        if broker_id < 0:
            yield "broker.id must be greater than or equal to 0"
    elif not -1 <= broker_id <= config.integer("reserved.broker.max.id"):
        yield "broker.id must be greater than or equal to -1 and not greater than reserved.broker.max.id"


def log_times_in_range(config: Config) -> Iterator[str]:
    if config.integer("log.retention.ms") == 0:
        yield "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"
    if config.integer("log.roll.ms") < 1:
        yield "log.roll.ms must be greater than or equal to 1"
    if config.integer("log.roll.jitter.ms") < 0:
        yield "log.roll.jitter.ms must be greater than or equal to 0"


def a_log_directory(config: Config) -> Iterator[str]:
    if not log_directories(config):
        yield "At least one log directory must be defined via log.dirs or log.dir."


def cleaner_has_memory(config: Config) -> Iterator[str]:
    if config.integer("log.cleaner.dedupe.buffer.size") <= config.integer("log.cleaner.threads") * _MIB:
        yield "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."


def replica_waits_in_order(config: Config) -> Iterator[str]:
    wait_max_ms = config.integer("replica.fetch.wait.max.ms")
    if wait_max_ms > config.integer("replica.socket.timeout.ms"):
        yield (
            "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms "
            "to prevent unnecessary socket timeouts"
        )
    if wait_max_ms > config.integer("replica.lag.time.max.ms"):
        yield (
            "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms "
            "to prevent frequent changes in ISR"
        )


def offset_commit_acks_in_range(config: Config) -> Iterator[str]:
    acks = config.integer("offsets.commit.required.acks")
    if not -1 <= acks <= config.integer("offsets.topic.replication.factor"):
        yield (
            "offsets.commit.required.acks must be greater or equal to -1 "
            "and less or equal to offsets.topic.replication.factor"
        )


def some_connection_is_possible(config: Config) -> Iterator[str]:
    try:
        overrides = connections_per_ip_overrides(config)
    except ConfigError as error:
        yield str(error)
        return
    if config.integer("max.connections.per.ip") == 0 and not overrides:
        yield ("max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.")


def authentication_delay_below_idle_time(config: Config) -> Iterator[str]:
    delay_ms = config.integer("connection.failed.authentication.delay.ms")
    idle_ms = config.integer("connections.max.idle.ms")
    if 0 <= idle_ms <= delay_ms:
        yield (
            f"connection.failed.authentication.delay.ms={delay_ms} should always be less than "
            f"connections.max.idle.ms={idle_ms} to prevent failed authentication responses from timing out"
        )


def a_request_fits_the_queue(config: Config) -> Iterator[str]:
    if 0 < config.integer("queued.max.request.bytes") < config.integer("socket.request.max.bytes"):
        yield "queued.max.request.bytes must be larger or equal to socket.request.max.bytes"


def listeners_make_sense(config: Config) -> Iterator[str]:
    try:
        listener = inter_broker_listener(config)
    except ConfigError as error:
        yield str(error)
        return
    mechanism = config.text("sasl.mechanism.inter.broker.protocol")
    if listener.protocol.uses_sasl and mechanism not in config.texts("sasl.enabled.mechanisms"):
        yield (
            "sasl.mechanism.inter.broker.protocol must be included in sasl.enabled.mechanisms "
            "when SASL is used for inter-broker communication"
        )


# The least, the greatest and, where there is one, the default that must lie between them.
_LIMITS: Final = (
    ("group.min.session.timeout.ms", "group.max.session.timeout.ms", None),
    *(
        (f"group.{kind}.min.{what}", f"group.{kind}.max.{what}", f"group.{kind}.{what}")
        for kind in ("consumer", "share")
        for what in ("heartbeat.interval.ms", "session.timeout.ms")
    ),
    (
        "group.share.min.record.lock.duration.ms",
        "group.share.max.record.lock.duration.ms",
        "group.share.record.lock.duration.ms",
    ),
)


def group_limits_in_order(config: Config) -> Iterator[str]:
    for least, greatest, between in _LIMITS:
        if config.integer(greatest) < config.integer(least):
            yield f"{greatest} must be greater than or equals to {least}"
        elif between is not None and config.integer(between) < config.integer(least):
            yield f"{between} must be greater than or equals to {least}"
        elif between is not None and config.integer(between) > config.integer(greatest):
            yield f"{between} must be less than or equals to {greatest}"


BROKER_RULES: Final[tuple[Callable[[Config], Iterator[str]], ...]] = (
    node_id_is_broker_id,
    broker_id_in_range,
    log_times_in_range,
    a_log_directory,
    cleaner_has_memory,
    replica_waits_in_order,
    offset_commit_acks_in_range,
    some_connection_is_possible,
    authentication_delay_below_idle_time,
    a_request_fits_the_queue,
    listeners_make_sense,
    group_limits_in_order,
)
