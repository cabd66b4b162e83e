"""Where a ZooKeeper is: `zookeeper.connect`, one or more host:port and a chroot, below which everything of ours is.

zk1:2181,zk2:2181,[2001:db8::3]:2181/kafka/production
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from moldau.base.errors import ConfigError
from moldau.cluster.errors import BadArguments
from moldau.cluster.paths import ROOT, validate_path

DEFAULT_PORT = 2181
PORT_MAX = 65535
_SERVER = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\s:\[\]/,]+)(?::(?P<port>\d{1,5}))?")


@dataclass(frozen=True, slots=True)
class Ensemble:
    servers: tuple[str, ...]
    """host:port each."""
    chroot: str = ""
    """Empty, or a path that ends in no slash."""

    @classmethod
    def parse(cls, text: str) -> Ensemble:
        hosts, slash, chroot = text.strip().partition("/")
        chroot = "" if not chroot else f"{slash}{chroot}"
        if chroot:
            try:
                validate_path(chroot)
            except BadArguments as error:
                raise ConfigError(f"zookeeper.connect is {text!r}: {error}") from error
        servers = tuple(_server(server.strip(), text) for server in hosts.split(",") if server.strip())
        if not servers:
            raise ConfigError(f"zookeeper.connect is {text!r}: write host:port[,host:port][/chroot]")
        return cls(servers, chroot)

    def __str__(self) -> str:
        return ",".join(self.servers) + self.chroot

    def inside(self, path: str) -> str:
        """The whole path of one below the chroot."""
        return self.chroot or ROOT if path == ROOT else self.chroot + path

    def outside(self, path: str) -> str:
        """The other way round."""
        return path.removeprefix(self.chroot) or ROOT


def _server(text: str, whole: str) -> str:
    match = _SERVER.fullmatch(text)
    port = DEFAULT_PORT if match is None or match["port"] is None else int(match["port"])
    if match is None or not 0 < port <= PORT_MAX:
        raise ConfigError(f"zookeeper.connect is {whole!r}: {text!r} is not host:port")
    return f"{match['host']}:{port}"
