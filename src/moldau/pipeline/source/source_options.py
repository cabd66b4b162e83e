"""The options of a source, read and checked once; names, defaults and refusals are those of Spark's own connector."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from typing import Final

from moldau.base.config.schema import Scope
from moldau.base.errors import ConfigError
from moldau.clients.settings import client_settings
from moldau.pipeline.options import PREFIX, SERVERS, OptionError, Options, wrong
from moldau.pipeline.source.bounds import Bound, Kind, check_batch_bounds, read_bound
from moldau.pipeline.source.subscription import Subscription, read_subscription

logger = logging.getLogger(__name__)

GROUP_ID: Final = "kafka.group.id"
GROUP_PREFIX: Final = "groupIdPrefix"
DEFAULT_GROUP_PREFIX: Final = "spark-kafka-source"
POLL_TIMEOUT: Final = "kafkaConsumer.pollTimeoutMs"

_REFUSED: Final = {
    "kafka.auto.offset.reset": "Kafka option 'auto.offset.reset' is not supported. Set the source option "
    "'startingOffsets' to 'earliest' or 'latest' instead: Spark itself keeps where a query is, and startingOffsets "
    "is for a new query only",
    "kafka.key.deserializer": "Kafka option 'key.deserializer' is not supported: keys are bytes. Use functions of "
    "DataFrames to read them",
    "kafka.value.deserializer": "Kafka option 'value.deserializer' is not supported: values are bytes. Use functions "
    "of DataFrames to read them",
    "kafka.enable.auto.commit": "Kafka option 'enable.auto.commit' is not supported: offsets are committed after each "
    "batch (option commitOffsets)",
    "kafka.interceptor.classes": "Kafka option 'interceptor.classes' is not supported: interceptors could change what "
    "is read",
}
_NOT_IN_STREAMS: Final = {
    "endingOffsets": "ending offset not valid in streaming queries",
    "endingOffsetsByTimestamp": "ending timestamp not valid in streaming queries",
    "endingTimestamp": "ending timestamp not valid in streaming queries",
}
_ONLY_IN_STREAMS: Final = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
# What the reader decides itself, or only a member of a group would need.
_NOT_FOR_LINKS: Final = ("group.id",)


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """`settings` are the client's. Times are in milliseconds."""

    subscription: Subscription
    settings: dict[str, str]
    starting: Bound
    ending: Bound
    fail_on_data_loss: bool
    include_headers: bool
    min_partitions: int | None
    records_per_partition_max: int | None
    offsets_per_trigger_min: int | None
    offsets_per_trigger_max: int | None
    trigger_delay_ms_max: int
    group_id: str
    commit_offsets: bool
    poll_timeout_ms: int
    attempts: int
    retry_interval_ms: int

    @property
    def servers(self) -> str:
        return self.settings["bootstrap.servers"]


def read_stream_options(options: Options) -> SourceOptions:
    options.refuse(_NOT_IN_STREAMS)
    return _read(options, Kind.LATEST)


def read_batch_options(options: Options) -> SourceOptions:
    read = _read(options, Kind.EARLIEST)
    check_batch_bounds(read.starting, read.ending)
    for name in _ONLY_IN_STREAMS:
        if name in options:
            logger.warning("Option %s is ignored in batch queries", name)
    return read


def check_options(options: Options) -> bool:
    """Refuse what is wrong for batches and streams alike; whether there are to be headers."""
    return _read(options, Kind.EARLIEST).include_headers


def _read(options: Options, default_start: Kind) -> SourceOptions:
    subscription = read_subscription(options)
    options.refuse(_REFUSED)
    options.required(SERVERS, "the brokers to ask first, e.g. localhost:9092")
    least, most = options.positive("minOffsetsPerTrigger"), options.positive("maxOffsetsPerTrigger")
    if least is not None and most is not None and least > most:
        raise wrong("minOffsetsPerTrigger", str(least), f"it is higher than maxOffsetsPerTrigger, which is {most}")
    return SourceOptions(
        subscription=subscription,
        settings=_client_settings(options),
        starting=read_bound(options, "starting", default_start),
        ending=read_bound(options, "ending", Kind.LATEST),
        fail_on_data_loss=options.boolean("failOnDataLoss", default=True),
        include_headers=options.boolean("includeHeaders", default=False),
        min_partitions=options.positive("minPartitions"),
        records_per_partition_max=options.positive("maxRecordsPerPartition"),
        offsets_per_trigger_min=least,
        offsets_per_trigger_max=most,
        trigger_delay_ms_max=options.duration_ms("maxTriggerDelay", "15m"),
        group_id=_group_id(options, subscription),
        commit_offsets=options.boolean("commitOffsets", default=True),
        poll_timeout_ms=options.positive(POLL_TIMEOUT) or 120_000,
        attempts=max(1, options.natural("fetchOffset.numRetries", 3)),
        retry_interval_ms=options.natural("fetchOffset.retryIntervalMs", 1000),
    )


def _client_settings(options: Options) -> dict[str, str]:
    settings = options.kafka_settings()
    for name in _NOT_FOR_LINKS:
        settings.pop(name, None)
    try:
        client_settings(Scope.CONSUMER, dict(settings), {})
    except ConfigError as error:
        given = ", ".join(sorted(PREFIX + name for name in settings if name in str(error)))
        raise OptionError(f"{f'Option {given}: ' if given else ''}{error}") from error
    return settings


def _group_id(options: Options, subscription: Subscription) -> str:
    """The group whose offsets show where the query is.

    Spark's own connector makes up a new one for each run, which no tool could follow. This one is the same as long as
    the query reads the same from the same cluster.
    """
    given = options.get(GROUP_ID)
    if given:
        if GROUP_PREFIX in options:
            logger.warning("Option %s is ignored, since %s is set", GROUP_PREFIX, GROUP_ID)
        return given
    read = f"{options.text(SERVERS, '')}\n{subscription.option}\n{subscription.value}"
    digest = hashlib.sha256(read.encode()).hexdigest()[:12]
    return f"{options.text(GROUP_PREFIX, DEFAULT_GROUP_PREFIX)}-{digest}"
