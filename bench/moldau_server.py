"""Moldau as a process: `moldau serve`, as it is installed beside this Python, with the defaults that it has."""

from __future__ import annotations

import compileall
import sys
from collections.abc import Mapping
from pathlib import Path

import moldau
from bench.bench_broker_process import BrokerProcess


class MoldauServer(BrokerProcess):
    name = "moldau"
    warm_up_s = 1.0

    def __init__(self, *, started: bool = True, settings: Mapping[str, object] | None = None) -> None:
        super().__init__(started=started)
        self._settings = dict(settings or {})

    def prepare(self) -> None:
        """Bytecode is there before the first start, as it is wherever pip has installed a package."""
        compileall.compile_dir(Path(moldau.__file__).parent, quiet=1)

    def command(self) -> list[str]:
        script = Path(sys.executable).parent / "moldau"
        settings = {"listeners": f"PLAINTEXT://{self.bootstrap}", **self._settings}
        overrides = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        return [str(script), "serve", *overrides, "--data", str(self.data), "--log-level", "WARNING"]
