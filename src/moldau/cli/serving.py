"""The life of a process of one broker or several: configuration, logging, event loop, signals, and its exit code."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import uvloop

from moldau.base.config.broker_config import BrokerConfig, load_broker_config
from moldau.base.config.properties import parse_properties
from moldau.base.errors import ConfigError, MoldauError
from moldau.broker.log_storage import log_dirs_of
from moldau.broker.node import Node
from moldau.cli.coordination import open_store
from moldau.cli.several_brokers import settings_of_each, store_directory
from moldau.cluster.shared_store import SharedStores

logger = logging.getLogger(__name__)

LAYOUT = "[%(asctime)s] %(levelname)s %(message)s (%(name)s)"  # Kafka's own

FAILED = 1


def settings_of(
    config: Path | None,
    overrides: Sequence[str],
    port: int | None,
    data: Path | None,
    zookeeper: str | None = None,
) -> dict[str, str]:
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
    if zookeeper is not None:
        settings["zookeeper.connect"] = zookeeper
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


def serve_until_stopped(
    settings: Mapping[str, str], log_level: str, brokers: int = 1, *, stop_with_input: bool = False
) -> int:
    """Run a broker, or several on one store; 0 after a clean stop."""
    set_up_logging(log_level)
    configs = [load_broker_config(own) for own in settings_of_each(settings, brokers)]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        stores = SharedStores(partial(open_store, configs[0], store_directory(settings)))
        return runner.run(_serve(configs, stores, stop_with_input=stop_with_input))


async def _serve(configs: Sequence[BrokerConfig], stores: SharedStores, *, stop_with_input: bool) -> int:
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
    if stop_with_input:
        _watch_input(partial(stop, 0, "standard input has ended"))
    nodes = [Node(config, stores.share, on_fatal=fail) for config in configs]
    starting = loop.create_task(_start(nodes))  # awaited right below, or cancelled by a signal
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
    # What is there now stays; each look of the collector at it would hold up the loop, by 20 ms for a thousand logs.
    gc.freeze()
    for node in nodes:
        listeners = ", ".join(f"{name}://{host}:{port}" for name, (host, port) in node.server.addresses.items())
        data = ", ".join(map(str, log_dirs_of(node.config)))
        # In one write: other brokers may say the same to the same pipe.
        print(f"Moldau broker {node.broker_id} listens on {listeners}; its data is in {data}\n", end="", flush=True)
    code = await stopping
    for node in reversed(nodes):
        await node.stop()
    return code


def _watch_input(ended: Callable[[], None]) -> None:
    """Whoever holds the other end of our standard input is gone when it ends; what comes out of it is not for us."""
    loop = asyncio.get_running_loop()
    descriptor = sys.stdin.fileno()

    def read() -> None:
        if not os.read(descriptor, 4096):
            loop.remove_reader(descriptor)
            ended()

    loop.add_reader(descriptor, read)


async def _start(nodes: Sequence[Node]) -> None:
    """All, or none: a node whose start fails leaves nothing, and then the others are stopped."""
    started: list[Node] = []

    async def start(node: Node) -> None:
        await node.start()
        started.append(node)

    try:
        outcomes = await asyncio.gather(*map(start, nodes), return_exceptions=True)
    finally:
        if len(started) < len(nodes):
            for node in started:
                await node.stop()
    for outcome in outcomes:
        if outcome is not None:
            raise outcome
