"""What a sink was told, read from its options and checked; it travels to the tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from uuid import uuid4

from moldau.pipeline.options import PREFIX, SERVERS, OptionError, Options, whole_number, wrong

DECISION_TOPIC: Final = "__moldau_sinks"
ID_PREFIX: Final = "moldau-sink."
# What brokers allow if nobody has told them otherwise: a driver may be away for so long after its decision.
TRANSACTION_TIMEOUT_MS: Final = 900_000
_SINK_ID_LENGTH_MAX: Final = 200

_TIMEOUT: Final = "transaction.timeout.ms"
_REFUSED: Final = {
    "kafka.transactional.id": "The sink makes transactional ids of its own, one for each task; sinkId names the sink",
    "kafka.key.serializer": "Keys are written as they are, bytes or UTF-8; cast the column instead",
    "kafka.value.serializer": "Values are written as they are, bytes or UTF-8; cast the column instead",
    "kafka.interceptor.classes": "Interceptors do not see columns",
    "kafka.partitioner.class": "Use the column partition instead",
}


@dataclass(frozen=True, slots=True)
class SinkSettings:
    sink_id: str
    described: str  # where the sink id comes from, for errors
    id_prefix: str
    exactly_once: bool
    topic: str | None
    decision_topic: str
    accept_loss: bool
    kafka_settings: tuple[tuple[str, str], ...]
    transaction_timeout_ms: int
    timeout_is_given: bool
    is_batch: bool

    @property
    def name(self) -> str:
        """The sink's own transactional id, and what those of its tasks begin with."""
        return self.id_prefix + self.sink_id

    @property
    def kafka(self) -> dict[str, str]:
        """Settings of the client, by Kafka's names."""
        return dict(self.kafka_settings)

    @property
    def servers(self) -> str:
        return self.kafka["bootstrap.servers"]


def sink_settings(options: Options, *, is_batch: bool) -> SinkSettings:
    """Read and check the options of a sink."""
    options.required(SERVERS, "the brokers to write to, host:port[,host:port…]")
    options.refuse(_REFUSED)
    exactly_once = options.choice("delivery", ("exactly-once", "at-least-once"), "exactly-once") == "exactly-once"
    kafka = options.kafka_settings()
    if exactly_once:
        _refuse_less(kafka)
    timeout = kafka.pop(_TIMEOUT, None)
    timeout_ms = TRANSACTION_TIMEOUT_MS if timeout is None else whole_number(timeout)
    if timeout_ms is None or not 1000 <= timeout_ms < 1 << 31:
        raise wrong(PREFIX + _TIMEOUT, timeout or "", "it has to be a number of milliseconds from 1000 on")
    sink_id, described = _sink_id(options, is_batch) if exactly_once else ("", "")
    accept_loss = options.choice("onLostTransactions", ("fail", "accept"), "fail") == "accept"
    topic = options.get("topic")
    if topic == "":
        raise wrong("topic", "", "it has to be the name of a topic")
    return SinkSettings(
        sink_id=sink_id,
        described=described,
        id_prefix=options.text("transactionalIdPrefix", ID_PREFIX),
        exactly_once=exactly_once,
        topic=topic,
        decision_topic=options.text("decisionTopic", DECISION_TOPIC),
        accept_loss=accept_loss,
        kafka_settings=tuple(sorted(kafka.items())),
        transaction_timeout_ms=timeout_ms,
        timeout_is_given=timeout is not None,
        is_batch=is_batch,
    )


def _refuse_less(kafka: Mapping[str, str]) -> None:
    for name, allowed in (("acks", ("all", "-1")), ("enable.idempotence", ("true",))):
        value = kafka.get(name)
        if value is not None and value.strip().lower() not in allowed:
            raise wrong(
                PREFIX + name, value, f"exactly once needs {allowed[0]}; leave it out, or set delivery=at-least-once"
            )


def _sink_id(options: Options, is_batch: bool) -> tuple[str, str]:
    given = options.get("sinkId")
    if given is not None:
        if not given or len(given) > _SINK_ID_LENGTH_MAX or not given.isprintable():
            raise wrong("sinkId", given, f"it has to be a text of 1 to {_SINK_ID_LENGTH_MAX} printable characters")
        return given, f"sinkId={given}"
    if is_batch:
        token = uuid4().hex
        return f"batch-{token}", f"batch write {token}"
    location = options.get("checkpointLocation")
    if location:
        digest = sha256(location.rstrip("/").encode()).hexdigest()[:24]
        return f"checkpoint-{digest}", f"checkpointLocation={location}"
    query_name = options.get("queryName")
    if query_name:
        return f"query-{query_name[:_SINK_ID_LENGTH_MAX]}", f"queryName={query_name}"
    raise OptionError(
        "Option 'sinkId' must be specified: a name of this sink by which it is known again after a restart. Or give "
        "checkpointLocation as an option of the writer, or queryName; or set delivery=at-least-once"
    )
