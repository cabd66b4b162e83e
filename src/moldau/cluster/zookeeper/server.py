"""Apache ZooKeeper as a process of ours, out of the jars that PySpark brings along.

Five of its 280 jars are enough, and without a logging provider among them it says nothing at all. Its port accepts
connections before it serves, and a jar too few leaves a process that never does, so readiness is asked for: the
command `srvr` is answered with a mode as soon as clients can be served, and not before.

It must not outlive whoever started it, not even one that is killed. So a shell stands between the two: it ends the
server when the pipe that it reads ends, of which this process has the other end.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from moldau.base.config.properties import parse_properties
from moldau.base.errors import ConfigError
from moldau.base.java import find_java
from moldau.cluster.errors import StoreUnavailable

logger = logging.getLogger(__name__)

JARS = ("zookeeper", "zookeeper-jute", "slf4j-api", "metrics-core", "snappy-java")
MAIN_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
JVM_OPTIONS = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dslf4j.internal.verbosity=ERROR",
    "-Dzookeeper.admin.enableServer=false",
)
DEFAULT_PORT = 2181
START_MS_MAX = 30_000
STOP_MS_MAX = 10_000
_WITH_PARENT = """exec 3<&0
"$@" 3<&- </dev/null & server=$!
(cat <&3 >/dev/null; kill $server 2>/dev/null) & reader=$!
wait $server; code=$?
kill $reader 2>/dev/null
exit $code"""
_POLL_MS = 50
_ANSWER_MS_MAX = 2_000
_ANSWER_BYTES_MAX = 4096

_PROPERTIES = """# Written by Moldau for a ZooKeeper of its own.
dataDir={data}
clientPort={port}
clientPortAddress={host}
maxClientCnxns=0
tickTime=500
minSessionTimeout=1000
maxSessionTimeout=60000
initLimit=20
syncLimit=10
autopurge.snapRetainCount=3
autopurge.purgeInterval=24
"""


def server_command(properties: Path) -> list[str]:
    """What starts a ZooKeeper server by this file; `ConfigError` says what to install."""
    java = find_java("ZooKeeper")
    class_path = ":".join(map(str, zookeeper_jars()))
    return [str(java), *JVM_OPTIONS, "-cp", class_path, MAIN_CLASS, str(properties)]


def zookeeper_jars() -> list[Path]:
    spec = find_spec("pyspark")
    folders = [Path(folder) / "jars" for folder in (spec.submodule_search_locations if spec else None) or ()]
    found = [next((jar for folder in folders for jar in folder.glob(f"{name}-[0-9]*.jar")), None) for name in JARS]
    jars = [jar for jar in found if jar is not None]
    if len(jars) < len(JARS):
        raise ConfigError("a ZooKeeper of our own needs the jars of PySpark: run: pip install 'moldau[spark]'")
    return jars


async def serving_mode(host: str, port: int) -> str | None:
    """`standalone`, `leader` or `follower`, or None if no ZooKeeper serves clients at this address."""
    with suppress(OSError, TimeoutError, EOFError):
        async with asyncio.timeout(_ANSWER_MS_MAX / 1000):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(b"srvr")
                answer = await reader.read(_ANSWER_BYTES_MAX)
                while answer and (more := await reader.read(_ANSWER_BYTES_MAX)):
                    answer += more
            finally:
                writer.close()
        for line in answer.decode(errors="replace").splitlines():
            if line.startswith("Mode:"):
                return line.removeprefix("Mode:").strip()
    return None


class ZooKeeperServer:
    """One server, by a file in ZooKeeper's own format."""

    def __init__(self, properties: Path) -> None:
        self._properties = properties
        try:
            settings = parse_properties(properties.read_text(encoding="iso-8859-1"), str(properties))
        except OSError as error:
            raise ConfigError(f"{properties} cannot be read: {error.strerror}") from error
        for name in ("dataDir", "clientPort"):
            if name not in settings:
                raise ConfigError(f"{properties}: {name} is missing")
        self.data = Path(settings["dataDir"])
        self.host = settings.get("clientPortAddress", "127.0.0.1")
        self.port = _port(settings["clientPort"], properties)
        self._process: Process | None = None

    @classmethod
    def with_defaults(cls, data: Path, host: str = "127.0.0.1", port: int = 0) -> ZooKeeperServer:
        """A server by itself with its data, and the file that says so, in `data`; port 0 is any free one."""
        data.mkdir(parents=True, exist_ok=True)
        properties = data / "zookeeper.properties"
        content = _PROPERTIES.format(data=data.absolute(), host=host, port=port or _free_port(host))
        properties.write_text(content, encoding="iso-8859-1")
        return cls(properties)

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    async def start(self) -> None:
        """Come up, or raise what is in the way, with no process left behind."""
        command = server_command(self._properties)
        if await serving_mode(self.host, self.port) is not None:
            raise StoreUnavailable(f"another ZooKeeper serves on {self.address} already: stop it, or use it")
        self.data.mkdir(parents=True, exist_ok=True)
        # In a session of its own: Ctrl-C in a terminal is for the broker, which needs its ZooKeeper to the end.
        self._process = await asyncio.create_subprocess_exec(
            *("sh", "-c", _WITH_PARENT, "sh", *command),
            stdin=PIPE,
            stdout=DEVNULL,
            stderr=DEVNULL,
            start_new_session=True,
        )
        try:
            await self._wait_until_serving(self._process)
        except BaseException:
            await self.stop()
            raise
        logger.info("ZooKeeper serves on %s, with its data in %s", self.address, self.data)

    async def wait(self) -> int:
        """Until the process has ended; its exit code."""
        assert self._process is not None
        return await self._process.wait()

    async def stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(STOP_MS_MAX / 1000):
                await process.wait()
        except TimeoutError:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()

    async def _wait_until_serving(self, process: Process) -> None:
        for _ in range(START_MS_MAX // _POLL_MS):
            if process.returncode is not None:
                raise StoreUnavailable(
                    f"ZooKeeper ended with code {process.returncode} instead of serving on {self.address}: "
                    f"is the port in use, or {self._properties} wrong?"
                )
            if await serving_mode(self.host, self.port) is not None:
                return
            await asyncio.sleep(_POLL_MS / 1000)
        raise StoreUnavailable(f"ZooKeeper does not serve on {self.address} after {START_MS_MAX} ms")


def _port(text: str, properties: Path) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigError(f"{properties}: clientPort is {text!r}, which is not a number") from None


def _free_port(host: str) -> int:
    with socket.create_server((host, 0)) as free:
        port: int = free.getsockname()[1]
        return port
