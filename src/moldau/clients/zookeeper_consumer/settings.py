"""The settings of the old consumer, by the names and with the defaults that Kafka 0.8 to 1.x gave them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

from moldau.base.errors import ConfigError

_RESET_POLICIES = {"smallest": "earliest", "largest": "latest", "earliest": "earliest", "latest": "latest"}


@dataclass(frozen=True, slots=True)
class OldSettings:
    zookeeper_connect: str
    group_id: str
    consumer_id: str = ""
    client_id: str = ""
    auto_offset_reset: str = "largest"
    auto_commit_enable: bool = True
    auto_commit_interval_ms: int = 60_000
    consumer_timeout_ms: int = -1
    zookeeper_session_timeout_ms: int = 6_000
    zookeeper_connection_timeout_ms: int = 6_000
    rebalance_max_retries: int = 4
    rebalance_backoff_ms: int = 2_000
    fetch_message_max_bytes: int = 1_048_576
    fetch_min_bytes: int = 1
    fetch_wait_max_ms: int = 100
    queued_max_messages: int = 20_000

    @property
    def reset_policy(self) -> str:
        """As the newer consumer calls it."""
        return _RESET_POLICIES[self.auto_offset_reset]


def read_settings(given: Mapping[str, object]) -> OldSettings:
    """Checked settings; whatever is wrong is named, all of it at once."""
    known = {field.name.replace("_", "."): field for field in fields(OldSettings)}
    problems = [f"{name} is no setting of the old consumer" for name in given if name not in known]
    problems += [f"{name} is missing" for name in ("zookeeper.connect", "group.id") if not given.get(name)]
    values: dict[str, object] = {}
    for name, value in given.items():
        if name in known:
            try:
                values[known[name].name] = _READERS[str(known[name].type)](value)
            except ValueError as error:
                problems.append(f"{name} is {value!r}: {error}")
    policy = values.get("auto_offset_reset", "largest")
    if policy not in _RESET_POLICIES:
        problems.append(f"auto.offset.reset is {policy!r}: write smallest or largest")
    if problems:
        raise ConfigError("; ".join(problems))
    return OldSettings(**values)  # type: ignore[arg-type]  # each was read by the reader of its type


def _read_boolean(value: object) -> bool:
    text = str(value).lower()
    if text not in ("true", "false"):
        raise ValueError("write true or false")
    return text == "true"


_READERS: Mapping[str, Callable[[object], object]] = {
    "str": str,
    "bool": _read_boolean,
    "int": lambda value: int(str(value)),
}
