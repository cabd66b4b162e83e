"""Hosts with ports, and the comma-separated texts in which settings carry them.

Kafka keeps some structured settings as plain text: these are the readers that all of them share. No name is
resolved here: whether a host exists is for whoever connects to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from moldau.base.config.config import Config
from moldau.base.config.value_types import COMMA, ConfigType, invalid, parse
from moldau.base.errors import ConfigError

_ADDRESS: Final = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]{1,9})")
PORT_MAX: Final = 65535


@dataclass(frozen=True, slots=True)
class Address:
    """Where to connect to."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def split_list(text: str) -> list[str]:
    """The items between the commas, without the empty ones."""
    return [item for item in COMMA.split(text.strip()) if item]


def split_map(name: str, text: str) -> dict[str, str]:
    """`a:1,b:2` as a dict: each pair is cut at its last colon, and the last pair of a name wins."""
    pairs: dict[str, str] = {}
    for item in split_list(text):
        key, colon, value = item.rpartition(":")
        if not colon:
            raise invalid(name, text, f"Expected pairs of the form key:value, but found {item}")
        pairs[key.strip()] = value.strip()
    return pairs


def bootstrap_addresses(config: Config, name: str = "bootstrap.servers") -> tuple[Address, ...]:
    """The brokers a client asks first; an error if there is none."""
    addresses = []
    for text in config.texts(name):
        match = _ADDRESS.fullmatch(text)
        if text and (match is None or int(match[2]) > PORT_MAX or not match[1]):
            raise ConfigError(f"Invalid url in {name}: {text}")
        if match is not None:
            addresses.append(Address(match[1], int(match[2])))
    if not addresses:
        raise ConfigError(f"No resolvable bootstrap urls given in {name}")
    return tuple(addresses)


def log_directories(config: Config) -> tuple[str, ...]:
    """The directories of `log.dirs`, or of `log.dir` where that is not given."""
    return tuple(split_list(config.text("log.dirs")))


def connections_per_ip_overrides(config: Config) -> dict[str, int]:
    """How many connections each host of `max.connections.per.ip.overrides` may have."""
    name = "max.connections.per.ip.overrides"
    limits: dict[str, int] = {}
    for host, text in split_map(name, config.text(name)).items():
        limit = parse(name, ConfigType.INT, text)
        assert isinstance(limit, int)
        limits[host] = limit
    return limits
