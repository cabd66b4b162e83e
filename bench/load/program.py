"""How a load is started and how it answers: settings in as JSON, figures out as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

Figures = dict[str, float]

LOAD_S_MAX = 300


def run_load(name: str, **settings: object) -> Figures:
    """Run `bench.load.<name>` in a process of its own; what it measured."""
    command = [sys.executable, "-m", f"bench.load.{name}", json.dumps(settings)]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=LOAD_S_MAX, check=False)
    if done.returncode:
        raise RuntimeError(f"the load {name} failed, with {settings}; what it said is above")
    figures: Figures = json.loads(done.stdout)
    return figures


def answer(load: Callable[..., Mapping[str, float]]) -> None:
    """The main function of a load."""
    settings: dict[str, Any] = json.loads(sys.argv[1])
    print(json.dumps(dict(load(**settings))))
