"""Moldau as a process: `moldau serve`, as it is installed beside this Python, with the defaults that it has."""

from __future__ import annotations

import compileall
import sys
from pathlib import Path

import moldau
from bench.bench_broker_process import BrokerProcess


class MoldauServer(BrokerProcess):
    name = "moldau"
    warm_up_s = 1.0

    def prepare(self) -> None:
        """Bytecode is there before the first start, as it is wherever pip has installed a package."""
        compileall.compile_dir(Path(moldau.__file__).parent, quiet=1)

    def command(self) -> list[str]:
        script = Path(sys.executable).parent / "moldau"
        listeners = f"listeners=PLAINTEXT://{self.bootstrap}"
        return [str(script), "serve", "--set", listeners, "--data", str(self.data), "--log-level", "WARNING"]
