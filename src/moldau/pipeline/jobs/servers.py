"""The brokers of a pipeline that names none: those that every other `moldau` command takes then.

What is written in the pipeline, or set with `--set`, comes first; then `--bootstrap-server`, then the environment.
"""

from __future__ import annotations

import os
from typing import Final

VARIABLE: Final = "MOLDAU_BOOTSTRAP_SERVER"
DEFAULT_SERVER: Final = "localhost:9092"


def servers_or_default(given: str | None = None) -> str:
    return given or os.environ.get(VARIABLE) or DEFAULT_SERVER
