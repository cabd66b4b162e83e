"""Where a broker listens, and under which addresses it tells others to reach it.

`listeners` is a list such as `PLAINTEXT://:9092,INTERNAL://[::1]:9093`. Each entry has a name, and
`listener.security.protocol.map` says what is spoken under that name. An empty host means every interface.
`advertised.listeners` has the same form and names some of the same listeners; without it, the listeners
themselves are advertised. Names are in capital letters wherever they are compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from moldau.base.config.addresses import PORT_MAX, split_list, split_map
from moldau.base.config.config import Config
from moldau.base.errors import ConfigError

_LISTENER: Final = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]{1,9})")


class SecurityProtocol(Enum):
    """What is spoken on a connection: plain or TLS, with or without SASL."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def uses_tls(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def uses_sasl(self) -> bool:
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


@dataclass(frozen=True, slots=True)
class Listener:
    """One named place to connect to."""

    name: str
    protocol: SecurityProtocol
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


def security_protocols(config: Config) -> dict[str, SecurityProtocol]:
    """`listener.security.protocol.map`, by listener name."""
    name = "listener.security.protocol.map"
    protocols: dict[str, SecurityProtocol] = {}
    for listener, text in split_map(name, config.text(name)).items():
        if text.upper() not in SecurityProtocol.__members__:
            raise ConfigError(f"Invalid security protocol `{text}` defined in {name}")
        protocols[listener.upper()] = SecurityProtocol[text.upper()]
    return protocols


def parse_listeners(text: str, protocols: dict[str, SecurityProtocol]) -> tuple[Listener, ...]:
    """The listeners that a setting's text describes, each with its protocol and under a name of its own."""
    listeners = tuple(_parse_listener(text, entry, protocols) for entry in split_list(text))
    if len({listener.name for listener in listeners}) != len(listeners):
        raise ConfigError(f"Each listener must have a different name, listeners: {text}")
    return listeners


def _parse_listener(text: str, entry: str, protocols: dict[str, SecurityProtocol]) -> Listener:
    match = _LISTENER.fullmatch(entry)
    if match is None or int(match[3]) > PORT_MAX:
        raise ConfigError(
            f"Error creating broker listeners from '{text}': Unable to parse {entry} to a broker endpoint"
        )
    name = match[1].upper()
    if name not in protocols:
        raise ConfigError(
            f"Error creating broker listeners from '{text}': No security protocol defined for listener {name}"
        )
    return Listener(name, protocols[name], match[2], int(match[3]))


def listeners_of(config: Config) -> tuple[Listener, ...]:
    """Where the broker listens."""
    text = config.text("listeners")
    listeners = parse_listeners(text, security_protocols(config))
    _check_ports(text, listeners)
    return listeners


def _check_ports(text: str, listeners: tuple[Listener, ...]) -> None:
    """One port twice is possible only as an IPv4 and an IPv6 address (KIP-797); port 0 is any free port."""
    by_port: dict[int, list[Listener]] = {}
    for listener in listeners:
        if listener.port:
            by_port.setdefault(listener.port, []).append(listener)
    for port, sharing in by_port.items():
        families = sorted(_family(listener.host) for listener in sharing)
        if len(sharing) > 1 and families != [4, 6]:
            raise ConfigError(
                "Each listener must have a different port unless exactly one listener has an IPv4 address and "
                f"the other IPv6 address, listeners: {text}, port: {port}"
            )


def _family(host: str) -> int:
    """4 or 6 for an address, 0 for a name."""
    if ":" in host:
        return 6
    return 4 if re.fullmatch(r"\d+\.\d+\.\d+\.\d+", host) else 0


def advertised_listeners_of(config: Config) -> tuple[Listener, ...]:
    """The addresses the broker tells others: those of `advertised.listeners`, else its listeners."""
    text = config.text_or_none("advertised.listeners")
    listeners = listeners_of(config)
    advertised = listeners if text is None else parse_listeners(text, security_protocols(config))
    if not advertised:
        raise ConfigError("There must be at least one broker advertised listener.")
    if any(listener.host == "0.0.0.0" for listener in advertised):
        raise ConfigError(
            "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address."
        )
    _check_names(advertised, {listener.name for listener in listeners})
    return advertised


def _check_names(advertised: tuple[Listener, ...], names: set[str]) -> None:
    strangers = [listener.name for listener in advertised if listener.name not in names]
    if strangers:
        raise ConfigError(
            "advertised.listeners listener names must be equal to or a subset of the ones defined in listeners. "
            f"Found {','.join(strangers)}. The valid options are {','.join(sorted(names))}"
        )


def inter_broker_listener(config: Config) -> Listener:
    """The advertised listener on which brokers reach each other."""
    if {"inter.broker.listener.name", "security.inter.broker.protocol"} <= config.explicit:
        raise ConfigError("Only one of inter.broker.listener.name and security.inter.broker.protocol should be set.")
    given = config.text_or_none("inter.broker.listener.name") or config.text("security.inter.broker.protocol")
    advertised = {listener.name: listener for listener in advertised_listeners_of(config)}
    if given.upper() not in advertised:
        raise ConfigError(
            "inter.broker.listener.name must be a listener name defined in advertised.listeners. "
            f"The valid options based on currently configured listeners are {','.join(sorted(advertised))}"
        )
    return advertised[given.upper()]
