"""What must hold between the settings of a client, and what follows from them.

Kafka's clients change a default that contradicts what was asked for, and refuse only where both sides were asked for:
`acks=1` alone turns idempotence off, `acks=1` with `enable.idempotence=true` is an error. A derivation does the
first, a rule the second; a derivation that takes a guarantee away says so in the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Final

from moldau.base.config.addresses import bootstrap_addresses
from moldau.base.config.config import Config
from moldau.base.config.schema import Scope
from moldau.base.config.value_types import Value
from moldau.base.errors import ConfigError

Derivation = Callable[[dict[str, Value], Set[str]], None]
Rule = Callable[[Config], Iterator[str]]

_log = logging.getLogger(__name__)

_IN_FLIGHT_MAX: Final = 5  # the broker remembers the last five batches of a producer


def acks_as_a_number(values: dict[str, Value], _explicit: Set[str]) -> None:
    """`all` is another name of -1; everything after this sees the number."""
    if values["acks"] == "all":
        values["acks"] = "-1"


def idempotence_only_where_possible(values: dict[str, Value], explicit: Set[str]) -> None:
    obstacle = next(_obstacles_to_idempotence(values), None)
    if obstacle is not None and values["enable.idempotence"] and "enable.idempotence" not in explicit:
        values["enable.idempotence"] = False
        _log.warning("Idempotence is off because of %s=%s.", obstacle, values[obstacle])


def _obstacles_to_idempotence(values: Mapping[str, Value]) -> Iterator[str]:
    in_flight = values["max.in.flight.requests.per.connection"]
    assert isinstance(in_flight, int)
    if values["acks"] != "-1":
        yield "acks"
    if values["retries"] == 0:
        yield "retries"
    if in_flight > _IN_FLIGHT_MAX:
        yield "max.in.flight.requests.per.connection"


def delivery_timeout_long_enough(values: dict[str, Value], explicit: Set[str]) -> None:
    if "delivery.timeout.ms" not in explicit:
        values["delivery.timeout.ms"] = max(_number(values, "delivery.timeout.ms"), _shortest_delivery_ms(values))


def _shortest_delivery_ms(values: Mapping[str, Value]) -> int:
    return min(_number(values, "linger.ms") + _number(values, "request.timeout.ms"), 2**31 - 1)


def _number(values: Mapping[str, Value], name: str) -> int:
    value = values[name]
    assert isinstance(value, int)
    return value


def one_reconnect_backoff(values: dict[str, Value], explicit: Set[str]) -> None:
    """Whoever sets only the first wait between connection attempts wants no exponential growth."""
    if "reconnect.backoff.ms" in explicit and "reconnect.backoff.max.ms" not in explicit:
        values["reconnect.backoff.max.ms"] = values["reconnect.backoff.ms"]


def no_auto_commit_without_group(values: dict[str, Value], explicit: Set[str]) -> None:
    if values["group.id"] is None and "enable.auto.commit" not in explicit:
        values["enable.auto.commit"] = False


def api_timeout_covers_a_request(values: dict[str, Value], explicit: Set[str]) -> None:
    if "default.api.timeout.ms" not in explicit:
        timeouts = (_number(values, "default.api.timeout.ms"), _number(values, "request.timeout.ms"))
        values["default.api.timeout.ms"] = max(timeouts)


def idempotence_has_what_it_needs(config: Config) -> Iterator[str]:
    if not config.boolean("enable.idempotence"):
        return
    needs = {
        "acks": "Must set acks to all in order to use the idempotent producer. "
        "Otherwise we cannot guarantee idempotence.",
        "retries": "Must set retries to non-zero when using the idempotent producer.",
        "max.in.flight.requests.per.connection": "Must set max.in.flight.requests.per.connection "
        f"to at most {_IN_FLIGHT_MAX} to use the idempotent producer.",
    }
    for obstacle in _obstacles_to_idempotence(config):
        yield needs[obstacle]


def transactions_need_idempotence(config: Config) -> Iterator[str]:
    if config["transactional.id"] is not None and not config.boolean("enable.idempotence"):
        yield "Cannot set a transactional.id without also enabling idempotence."


def delivery_timeout_covers_a_request(config: Config) -> Iterator[str]:
    if config.integer("delivery.timeout.ms") < _shortest_delivery_ms(config):
        yield "delivery.timeout.ms should be equal to or larger than linger.ms + request.timeout.ms"


def heartbeat_below_session_timeout(config: Config) -> Iterator[str]:
    in_classic_group = config["group.id"] is not None and config.text("group.protocol").lower() == "classic"
    if in_classic_group and config.integer("heartbeat.interval.ms") >= config.integer("session.timeout.ms"):
        yield "Heartbeat must be set lower than the session timeout"


def auto_commit_needs_a_group(config: Config) -> Iterator[str]:
    if config["group.id"] is None and config.boolean("enable.auto.commit"):
        yield "enable.auto.commit cannot be set to true when default group id (null) is used."


def remote_assignor_needs_its_protocol(config: Config) -> Iterator[str]:
    protocol = config.text("group.protocol").upper()
    if protocol == "CLASSIC" and config["group.remote.assignor"]:
        yield f"group.remote.assignor cannot be set when group.protocol={protocol}"


def sasl_needs_a_mechanism(config: Config) -> Iterator[str]:
    if config.text("security.protocol").upper().startswith("SASL_") and not config["sasl.mechanism"]:
        yield (
            "Invalid value null for configuration sasl.mechanism: When the security.protocol configuration "
            "enables SASL, mechanism must be non-null and non-empty string."
        )


def bootstrap_servers_are_addresses(config: Config) -> Iterator[str]:
    try:
        bootstrap_addresses(config)
    except ConfigError as error:
        yield str(error)


def brokers_or_controllers(config: Config) -> Iterator[str]:
    servers, controllers = config["bootstrap.servers"], config["bootstrap.controllers"]
    if servers and controllers:
        yield "You cannot set both bootstrap.servers and bootstrap.controllers"
    elif not servers and not controllers:
        yield "You must set either bootstrap.servers or bootstrap.controllers"
    else:
        try:
            bootstrap_addresses(config, "bootstrap.servers" if servers else "bootstrap.controllers")
        except ConfigError as error:
            yield str(error)


def api_timeout_not_below_request_timeout(config: Config) -> Iterator[str]:
    if config.integer("default.api.timeout.ms") < config.integer("request.timeout.ms"):
        yield ("The specified value of default.api.timeout.ms must be no smaller than the value of request.timeout.ms.")


CLIENT_DERIVATIONS: Final[dict[Scope, tuple[Derivation, ...]]] = {
    Scope.PRODUCER: (
        one_reconnect_backoff,
        acks_as_a_number,
        idempotence_only_where_possible,
        delivery_timeout_long_enough,
    ),
    Scope.CONSUMER: (one_reconnect_backoff, no_auto_commit_without_group),
    Scope.ADMIN: (one_reconnect_backoff, api_timeout_covers_a_request),
}

CLIENT_RULES: Final[dict[Scope, tuple[Rule, ...]]] = {
    Scope.PRODUCER: (
        bootstrap_servers_are_addresses,
        sasl_needs_a_mechanism,
        idempotence_has_what_it_needs,
        transactions_need_idempotence,
        delivery_timeout_covers_a_request,
    ),
    Scope.CONSUMER: (
        bootstrap_servers_are_addresses,
        sasl_needs_a_mechanism,
        heartbeat_below_session_timeout,
        auto_commit_needs_a_group,
        remote_assignor_needs_its_protocol,
    ),
    Scope.ADMIN: (brokers_or_controllers, sasl_needs_a_mechanism, api_timeout_not_below_request_timeout),
}
