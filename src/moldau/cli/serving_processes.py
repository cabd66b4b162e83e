"""`moldau serve --processes`: every broker a process of its own, so that one machine uses all its cores.

This process is the parent: it starts a ZooKeeper, unless one was named, and the brokers, passes a signal on, says when
a broker has died, and ends when all have. The brokers' standard input is a pipe from here: should the parent be killed,
they see its end and stop, so that nothing is left behind.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence

import uvloop

from moldau.base.errors import MoldauError
from moldau.cli.coordination import AUTO, ZOOKEEPER_FOLDER
from moldau.cli.serving import FAILED, set_up_logging
from moldau.cli.several_brokers import settings_of_each, store_directory
from moldau.cluster.zookeeper.server import ZooKeeperServer

logger = logging.getLogger(__name__)

STOP_S_MAX = 60.0
"""A broker that has not stopped by then is killed."""


def serve_processes(settings: Mapping[str, str], log_level: str, brokers: int) -> int:
    """Run brokers as processes; 0 after a clean stop of all of them."""
    set_up_logging(log_level)
    server = None
    word, _, port = settings.get("zookeeper.connect", AUTO).partition(":")
    if word == AUTO:
        server = ZooKeeperServer.with_defaults(store_directory(settings) / ZOOKEEPER_FOLDER, port=int(port or "0"))
        settings = {**settings, "zookeeper.connect": server.address}
    commands = [_command(own, log_level) for own in settings_of_each(settings, brokers)]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_Parent(commands, server).run())


def _command(settings: Mapping[str, str], log_level: str) -> list[str]:
    command = [sys.executable, "-m", "moldau", "serve", "--stop-with-input", "--log-level", log_level]
    for name, value in settings.items():
        command += ["--set", f"{name}={value}"]
    return command


class _Parent:
    def __init__(self, commands: Sequence[Sequence[str]], server: ZooKeeperServer | None) -> None:
        self._commands = commands
        self._server = server
        self._children: list[Process] = []
        self._is_stopping = False

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop, signal.Signals(number).name)
        try:
            if self._server is not None:
                await self._server.start()
            for command in self._commands:
                if not self._is_stopping:
                    # In sessions of their own: Ctrl-C in a terminal is for the parent, which passes it on.
                    self._children.append(
                        await asyncio.create_subprocess_exec(*command, stdin=PIPE, start_new_session=True)
                    )
            codes = await asyncio.gather(*map(self._watch, range(len(self._children))))
        except (MoldauError, OSError) as error:
            print(f"moldau: {error}", file=sys.stderr)
            return FAILED
        finally:
            self._kill()
            if self._server is not None:
                await self._server.stop()
        return FAILED if any(codes) or not self._is_stopping else 0

    async def _watch(self, number: int) -> int:
        child = self._children[number]
        code = await child.wait()
        if not self._is_stopping:
            left = sum(each.returncode is None for each in self._children)
            text = f"broker process {number} (pid {child.pid}) has ended with code {code}; {left} others go on"
            print(f"moldau: {text}", file=sys.stderr)
        return code

    def _stop(self, why: str) -> None:
        if not self._is_stopping:
            logger.info("stopping %d brokers: %s", len(self._children), why)
            self._is_stopping = True
            for child in self._children:
                if child.returncode is None:
                    child.terminate()
            asyncio.get_running_loop().call_later(STOP_S_MAX, self._kill)

    def _kill(self) -> None:
        for child in self._children:
            if child.returncode is None:
                child.kill()
