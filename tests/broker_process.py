"""A broker as its own process, as users run it: `moldau serve`, to be killed and started again."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

START_S_MAX = 30.0


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class BrokerProcess:
    """`moldau serve` on a port and a directory of its own; what it says is in `log`."""

    def __init__(self, data: Path, *settings: str, port: int | None = None) -> None:
        self.data = data
        self.port = port or free_port()
        self.settings = ("broker.id=0", f"listeners=PLAINTEXT://127.0.0.1:{self.port}", *settings)
        self.log = data.parent / f"{data.name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start, and wait until it says that it listens."""
        command = [sys.executable, "-m", "moldau", "serve", "--data", str(self.data)]
        for setting in self.settings:
            command += ["--set", setting]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, env={**os.environ, "PYTHONUNBUFFERED": "1"}
            )
        assert self._process.stdout is not None
        watchdog = threading.Timer(START_S_MAX, self._process.kill)
        watchdog.start()
        try:
            line = self._process.stdout.readline().decode()
        finally:
            watchdog.cancel()
        if not re.match(r"Moldau broker 0 listens on ", line):
            self.kill()
            raise AssertionError(f"it did not start: {line!r}\n{self.log.read_text()[-4000:]}")

    def kill(self) -> None:
        """kill -9."""
        if self._process is not None:
            self._process.kill()
            self._end()

    def stop(self) -> int:
        """SIGTERM; its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._end()

    def _end(self) -> int:
        process, self._process = self._process, None
        assert process is not None
        code = process.wait(60)
        if process.stdout is not None:
            process.stdout.close()
        return code
