"""The life of a broker's process: configuration, logging, event loop, signals, and its exit code."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import uvloop

from moldau.base.clock import SystemClock
from moldau.base.config.broker_config import BrokerConfig, load_broker_config
from moldau.base.config.properties import parse_properties
from moldau.base.errors import ConfigError, MoldauError
from moldau.broker.log_storage import log_dirs_of
from moldau.broker.node import Node
from moldau.cluster.embedded import EmbeddedStore
from moldau.cluster.sqlite import SqlitePersistence

logger = logging.getLogger(__name__)

STORE_FILE = "coordination.sqlite"
LAYOUT = "[%(asctime)s] %(levelname)s %(message)s (%(name)s)"  # Kafka's own

FAILED = 1


def settings_of(config: Path | None, overrides: Sequence[str], port: int | None, data: Path | None) -> dict[str, str]:
    """The file's settings, and those of the command line over them."""
    settings: dict[str, str] = {}
    if config is not None:
        try:
            text = config.read_text(encoding="iso-8859-1")
        except OSError as error:
            raise ConfigError(f"{config} cannot be read: {error.strerror}") from error
        settings |= parse_properties(text, str(config))
    if port is not None:
        settings["listeners"] = f"PLAINTEXT://:{port}"
        settings.pop("advertised.listeners", None)
    if data is not None:
        settings["log.dirs"] = str(data)
    for override in overrides:
        name, separator, value = override.partition("=")
        if not separator or not name:
            raise ConfigError(f"--set {override}: write it as name=value")
        settings[name.strip()] = value.strip()
    return settings


def set_up_logging(level: str) -> None:
    """`INFO`, or `INFO,moldau.net=DEBUG`: for all, and for parts."""
    logging.basicConfig(format=LAYOUT, level=logging.INFO)
    for part in level.split(","):
        name, _, wanted = part.rpartition("=")
        if wanted.upper() not in logging.getLevelNamesMapping():
            raise ConfigError(f"--log-level {part}: levels are DEBUG, INFO, WARNING and ERROR")
        logging.getLogger(name or None).setLevel(wanted.upper())


def serve_until_stopped(settings: Mapping[str, str], log_level: str) -> int:
    """Run a broker; 0 after a clean stop."""
    set_up_logging(log_level)
    config = load_broker_config(settings)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_serve(config))


async def _serve(config: BrokerConfig) -> int:
    loop = asyncio.get_running_loop()
    stopping: asyncio.Future[int] = loop.create_future()

    def stop(code: int, why: str) -> None:
        if not stopping.done():
            logger.info("stopping: %s", why)
            stopping.set_result(code)

    def fail(name: str, error: BaseException) -> None:
        stop(FAILED, f"{name} failed: {error}")

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, 0, signal.Signals(number).name)
    node = Node(config, partial(open_embedded_store, config), on_fatal=fail)
    starting = loop.create_task(node.start())  # awaited right below, or cancelled by a signal
    waiting: list[asyncio.Future[Any]] = [starting, stopping]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    if not starting.done():
        starting.cancel()
        await asyncio.wait([starting])
        return stopping.result()
    try:
        starting.result()
    except (MoldauError, OSError) as error:
        print(f"moldau: {error}", file=sys.stderr)
        return FAILED
    listeners = ", ".join(f"{name}://{host}:{port}" for name, (host, port) in node.server.addresses.items())
    data = ", ".join(map(str, log_dirs_of(config)))
    print(f"Moldau broker {node.broker_id} listens on {listeners}; its data is in {data}", flush=True)
    code = await stopping
    await node.stop()
    return code


async def open_embedded_store(config: BrokerConfig) -> EmbeddedStore:
    """The store of a cluster of one process, in the first log directory."""
    directory = log_dirs_of(config)[0]
    return await EmbeddedStore.open(SqlitePersistence(directory / STORE_FILE), SystemClock())
