"""The log file of a broker: lines that say that something is wrong."""

from __future__ import annotations

import re
from collections import deque
from pathlib import Path

from moldau.cli.health.finding import Finding, bad, good, warning

# Moldau's and Kafka's levels, where a level stands in a line.
_WRONG = re.compile(r"\b(FATAL|CRITICAL|ERROR)\b")
LINE_CHARACTERS_MAX = 10_000
SHOWN_CHARACTERS = 120


def check_log_file(path: Path) -> list[Finding]:
    """How many lines are errors, and the last of them."""
    wrong = 0
    last: deque[str] = deque(maxlen=1)
    try:
        with path.open(errors="replace") as file:
            while line := file.readline(LINE_CHARACTERS_MAX):
                if _WRONG.search(line):
                    wrong += 1
                    last.append(line.strip())
    except OSError as error:
        return [warning("log", f"{path}: {error.strerror}", "name a file that can be read")]
    if wrong:
        return [bad("log", f"{path}: {wrong} errors, the last: {last[0][:SHOWN_CHARACTERS]}", "read the log there")]
    return [good("log", f"{path}: no errors")]
